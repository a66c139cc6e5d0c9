"""What a benchmark of the catalogue is proven by: a published value, cases of the published scorer, a miniature."""

import json
import re
from functools import cache, partial
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

import pytest

from pytest_audiobench.conformance.comparison import compared_cases
from pytest_audiobench.datasets.catalogue import LOADERS
from pytest_audiobench.datasets.declaration import read_declarations, read_toml, texts
from pytest_audiobench.datasets.declared import declared_dataset
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.metrics.metric import value_range
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.plugin.declarative import read_declaration
from pytest_audiobench.protocols.catalogue import family
from pytest_audiobench.rescoring.layouts import Source, source_of
from pytest_audiobench.rescoring.rescore import ScoringOptions, rescore
from tests.benchmarks.miniatures import CONFTEST, EVALS, HERE, Miniature, in_part, miniatures, text_in_part

CASES = HERE / "cases"
LEAST = 10
JUDGED = "judged"
"""The family of a judge's scorers, whose cases stand there whatever protocol they are added to."""
_PARTS = ("question", "reference", "metadata")
_PLACE = re.compile(r"\b[0-9a-f]{7,40}\b|\barXiv \d{4}\.\d{5}|\bhttps?://\S+\.\S")
"""What a source is found again by: a commit, a paper or a page."""

DOMAINS = {"speech", "sound", "music"}
TASKS = {
    *("asr", "translation", "summarization", "qa", "reasoning", "math", "instructions", "safety"),
    *("emotion", "sentiment", "gender", "accent", "language-identification", "speaker-verification"),
    *("speaker-counting", "spoofing", "keyword", "intent", "understanding", "classification", "tagging", "captioning"),
    *("sound-event", "scene", "vocal-sound", "genre", "mood", "instrument", "pitch", "playing-technique"),
    *("singing-technique", "lyrics", "phonemes"),
}
"""The words that select benchmarks by ``-m``: a new one is added here, once no other means the same."""
OTHER_NAMES = {"mandarin": "chinese"}
"""Names of languages for which another is in all files."""


@cache
def benchmarks():
    """The declared tasks by the names of their miniatures: ``FILE`` or ``FILE-TASK``."""
    files = sorted(path for path in LOADERS.values() if isinstance(path, Path) and path.parent == EVALS)
    return {
        "-".join(filter(None, (file.name.partition(".")[0], task))): (file, task, declared)
        for file in files
        for task, declared in read_declarations(file).items()
    }


def case_files():
    return sorted(f"{path.parent.name}/{path.stem}" for path in CASES.glob("*/*.json"))


@cache
def tables(file):
    """What a file says of each of its tasks."""
    return {task: declared.table for task, declared in read_declaration(file).items()}


def protocol_of(name):
    file, task, _ = benchmarks()[name]
    return tables(file)[task].get("protocol", "multiple_choice")


def question_of(name):
    file, task, declared = benchmarks()[name]
    return f"{declared.sample.question} {tables(file)[task].get('prompt')}"


def lacking(name):
    """What a benchmark's proof lacks."""
    published = benchmarks()[name][2].published
    rows = [row for row in published if row.scorer]
    if not rows:
        yield "a [[published]] row with a scorer"
    scorers = {row.scorer for row in rows}
    families = (protocol_of(name), JUDGED)
    if scorers and not any((CASES / family / f"{scorer}.json").is_file() for family in families for scorer in scorers):
        yield f"cases of {', '.join(sorted(scorers))} in tests/benchmarks/cases/{protocol_of(name)}"
    if name not in miniatures():
        yield f"tests/benchmarks/miniatures/{name}.json"


@pytest.mark.parametrize("name", benchmarks())
def test_a_benchmark_is_proven_or_says_what_its_proof_lacks(name):
    unproven = benchmarks()[name][2].unproven
    missing = list(lacking(name))
    assert bool(missing) <= bool(unproven), f"{name} lacks {'; '.join(missing)}: add it, or say so under 'unproven'"


@pytest.mark.parametrize("name", benchmarks())
def test_a_benchmark_s_file_says_what_its_users_must_know(name):
    file, task, declared = benchmarks()[name]
    source, table = declared.source, tables(file)[task]
    assert all((source.title, source.citation, source.repository)), "who published it"
    assert source.domain, "what is heard"
    assert declared.fetch or source.obtain, "how to come by its data"
    prompts = [table.get("prompt", ""), *(prompt.get("prompt", "") for prompt in declared.prompts.values())]
    assert not any(hole in prompt for prompt in prompts for hole in ("{answer}", "{reference}", "{references}"))
    assert read_toml(file).get("name") is None


@pytest.mark.parametrize("name", benchmarks())
def test_a_benchmark_is_selected_by_the_words_of_all_others(name):
    source = benchmarks()[name][2].source
    tasks, domains, languages = (set(texts(words)) for words in (source.task, source.domain, source.language))
    assert tasks, "what is asked for"
    assert tasks <= TASKS
    assert domains <= DOMAINS
    assert all(len(word) > 3 and word.isalpha() and word.islower() for word in languages), "a name, and not a code"
    assert not languages & set(OTHER_NAMES), f"as in {OTHER_NAMES}"


@pytest.mark.parametrize("protocol", ["transcription", "overlapped_speech", "translation", "captioning", "tagging"])
def test_all_benchmarks_of_a_protocol_are_selected_by_the_word_for_it(protocol):
    word = {"transcription": "asr", "overlapped_speech": "asr"}.get(protocol, protocol)
    of_protocol = [name for name in benchmarks() if protocol_of(name) == protocol]
    assert of_protocol
    assert [name for name in of_protocol if word not in texts(benchmarks()[name][2].source.task)] == []


@pytest.mark.parametrize("word", ["emotion", "genre", "instrument"])
def test_all_benchmarks_that_ask_for_something_are_selected_by_its_word(word):
    asking = [name for name in benchmarks() if word in question_of(name)]
    assert asking
    assert [name for name in asking if word not in texts(benchmarks()[name][2].source.task)] == []


def fields_of(value):
    return tuple(
        str(getattr(value, field))
        for field in ("model", "metric", "scorer", "parameters", "average", "source", "conditions", "n")
    )


@pytest.mark.parametrize("name", benchmarks())
def test_a_published_value_is_one_that_can_be_measured_and_looked_up(name):
    _, _, declared = benchmarks()[name]
    for row in declared.published:
        kind = metric_kind(row.metric)
        least, _, most = value_range(kind).partition(" to ")
        assert not most or float(least) <= row.value <= float(most), f"{row.metric} of {row.model} is {kind.unit}"
        assert _PLACE.search(row.source), f"where {row.source!r} is"
        assert row.prompt is None or row.prompt in declared.prompts
        if row.scorer is None:
            continue
        scorers = [family(each).available.get(row.scorer) for each in (protocol_of(name), JUDGED)]
        assert any(row.metric in scorer.metrics for scorer in scorers if scorer), f"{row.scorer} gives {row.metric}"
    assert len(set(map(fields_of, declared.published))) == len(declared.published), "each value once"


@pytest.mark.parametrize("name", benchmarks())
def test_what_is_fetched_of_an_address_is_a_file_with_an_ending(name):
    addresses = [unquote(urlsplit(fetch.url).path) for fetch in benchmarks()[name][2].fetch if fetch.url]
    assert all(PurePosixPath(address).suffix for address in addresses), addresses


@pytest.mark.parametrize("name", case_files())
def test_a_scorer_gives_what_its_publisher_s_code_or_a_count_by_hand_gives(name):
    path = CASES / f"{name}.json"
    case_file = json.loads(path.read_text(encoding="utf-8"))
    assert all((case_file["code"], case_file["made_by"])), "where its values come from"
    assert len(case_file["cases"]) >= LEAST
    results = list(compared_cases(path))
    if lacking_parts := next((result.detail for result in results if "cannot be used here" in result.detail), ""):
        pytest.skip(lacking_parts)
    assert [result for result in results if result.verdict != "agrees"] == []


def run_groups():
    """The names of all miniatures, in groups of which no two files, and no two layouts, have data in one folder."""
    folders, units = {}, {}
    for name, path in miniatures().items():
        (file, _, declared), miniature = benchmarks()[name], Miniature(path)
        unit = (file, miniature.layout)
        folders.setdefault(unit, set()).update({declared.root, *miniature.other_folders})
        units.setdefault(unit, []).append(name)
    groups = []
    for unit, roots in folders.items():
        group = next((group for group in groups if not any(roots & folders[other] for other in group)), None)
        if group is None:
            groups.append(group := [])
        group.append(unit)
    return [[name for unit in group for name in units[unit]] for group in groups]


@pytest.fixture(scope="session")
def run_with(tmp_path_factory, forks):
    """The run that has a miniature: its folder, that of the data, and what was said. A group runs once."""
    groups = {name: tuple(group) for group in run_groups() for name in group}
    run_once = cache(partial(run_of, forks=forks, tmp_path_factory=tmp_path_factory))
    return lambda name: run_once(groups[name])


def run_of(names, forks, tmp_path_factory):
    folder = tmp_path_factory.mktemp("catalogue")
    answers, verdicts, together = {}, {}, {}
    for name in names:
        miniature, (file, _, declared) = Miniature(miniatures()[name]), benchmarks()[name]
        others = together.setdefault(declared.root, [])
        miniature.put(folder / "data" / declared.root, others)
        others.append(miniature)
        (folder / "evals").mkdir(exist_ok=True)
        (folder / "evals" / file.name).write_text(text_in_part(file), encoding="utf-8")
        # A text may be said by further voices on this machine: they are answered alike.
        cases = declared.cases({}) if declared.sample.speech else [miniature.parameters]
        for dataset in {declared_dataset(declared, case).name for case in cases}:
            answers.update({f"{dataset} {id_}": text for id_, text in miniature.responses.items()})
            verdicts.update({f"{dataset} {id_}": text for id_, text in miniature.judge_responses.items()})
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "answers.json").write_text(json.dumps(answers))
    (folder / "verdicts.json").write_text(json.dumps(verdicts))
    # Quiet, or the plan of the run would count every data set ahead.
    arguments = ["-q", "--ab-model=recorded:answers.json", "--ab-judge=recorded:verdicts.json", "--ab-run=all", "evals"]
    run = forks.pytest(["-p", "no:cacheprovider", "--rootdir=.", *arguments], folder)
    return folder / "reports" / "all", folder / "data", run.stdout[-20_000:] + run.stderr


@cache
def recorded_rows(folder):
    """A run's answers, and its rows by eval: several have their samples from one data set."""
    source, rows = source_of(folder), {}
    for row in source.rows():
        rows.setdefault(row.eval, []).append(row)
    return source, rows


LONG = {"air_bench", "air_bench_chat-music"}
"""Of many thousand answers, or through a judge; tests/benchmarks/test_air_bench.py has shorter ones."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in miniatures()]
)
def test_a_miniature_is_read_asked_and_scored(name, run_with):
    folder, data, output = run_with(name)
    miniature, (_, _, declared) = Miniature(miniatures()[name]), benchmarks()[name]
    dataset = declared_dataset(in_part(declared), miniature.parameters)
    samples = list(dataset.read(Places(here=data, shelves=[data])))
    assert len(samples) == miniature.count
    for sample, expected in zip(samples, miniature.samples, strict=False):
        shown = {"id": sample.id, **{part: getattr(sample, part) for part in _PARTS}}
        shown |= {"choices": list(sample.choices), "references": list(sample.truths)}
        assert {key: shown[key] for key in expected} == expected
    source, rows = recorded_rows(folder)
    evals = [item for item in source.run.items if item.eval.partition("[")[0] == miniature.eval]
    asked = next((item for item in evals if item.dataset == dataset.name), None)
    assert asked, output
    rows = rows.get(asked.eval, [])
    assert len(rows) == miniature.count, output
    for scorer, expected in miniature.expected.items():
        named = asked.scorers[0].name if scorer == "default" else scorer
        was_asked = any(named == one.name for one in asked.scorers)
        values = values_of((asked if was_asked else rescored(source, rows, named)).metrics, named)
        assert {name: values[name] for name in expected} == pytest.approx(expected, abs=1e-6), scorer


def values_of(metrics, scorer):
    return {metric.name: metric.value for metric in metrics if metric.scorer == scorer and not metric.group}


def rescored(source, rows, scorer):
    of_one = Source(source.layout, source.files, lambda: iter(rows), source.run)
    (item,) = rescore(of_one, ScoringOptions((scorer,))).items
    return item
