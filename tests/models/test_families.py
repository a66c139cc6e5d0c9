"""The families of the transformers adapter, each on a tiny checkpoint in the format in which it is published."""

import json
import shutil

import numpy as np
import pytest

from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.models.hf import families
from pytest_audiobench.models.hf import model as hf_model
from pytest_audiobench.models.hf.families import FAMILIES, HEADS, SINCE, Family
from pytest_audiobench.models.hf.model import HfModel
from pytest_audiobench.models.messages import SOMETHING_ELSE

CHAT = ("audioflamingo3", "qwen25_omni", "qwen25_omni_thinker", "qwen3_omni", "voxtral")
TRANSCRIBERS = ("ctc", "whisper")
CHOOSERS = ("ast", "clap", "classifier", "whisper_classifier")
HEARD = "<|audio_bos|><|AUDIO|><|audio_eos|>"
"""As published templates write it: some releases of transformers put absent marks around the token."""
CHOICES = ("hap", "sad", "ang", "neu")
TASKS = dict.fromkeys(CHAT, "open") | dict.fromkeys(TRANSCRIBERS, "transcription") | dict.fromkeys(CHOOSERS, "choice")


@pytest.fixture
def model_of(built):
    """Makes a loaded model of a family; closed with the test."""
    made = []

    def make(name, build=None, **options):
        made.append(HfModel(str(built(name, **(build or {}))), {"device": "cpu", **options}))
        made[-1].load()
        return made[-1]

    yield make
    for model in made:
        model.close()


@pytest.fixture
def asks_of(ask_about, recordings):
    """The bundled recordings as requests for what a family can do."""

    def make(model, task, **settings):
        limits = model.limits
        heard = recordings(limits.rate_hz, limits.window_s(task))
        choices = CHOICES if task == "choice" else ()
        return [ask_about("What is it?", one, choices=choices, task=task, **settings) for one in heard]

    return make


@pytest.mark.parametrize("name", [*CHAT, *TRANSCRIBERS, *CHOOSERS])
def test_batches_and_single_requests_give_the_same_answers(model_of, asks_of, name):
    model = model_of(name)
    asks = asks_of(model, TASKS[name], max_new_tokens=8)
    together, alone = model.ask(asks), [model.ask([ask])[0] for ask in asks]
    assert [(one.text, one.finish, one.error) for one in together] == [(a.text, a.finish, a.error) for a in alone]
    assert all(one.text and one.error is None for one in together)
    if TASKS[name] != "choice":
        assert len({one.text for one in together}) > 1


def test_clips_of_less_than_a_second_are_no_exception(model_of, ask_about, recordings, heard):
    model = model_of("qwen3_omni")
    clips = [heard(one.samples[: 4_000 * (i + 1)]) for i, one in enumerate(recordings()[:5])]
    asks = [ask_about("What is it?", clip, task="open", max_new_tokens=8) for clip in clips]
    assert [one.text for one in model.ask(asks)] == [model.ask([ask])[0].text for ask in asks]


@pytest.mark.parametrize("kind", ["Wav2Vec2", "Hubert"])
@pytest.mark.parametrize("masked", [True, False])
def test_a_transcript_by_frames_ends_with_its_clip(model_of, asks_of, kind, masked):
    model = model_of("ctc", {"kind": kind, "masked": masked})
    asks = asks_of(model, "transcription")
    assert [one.text for one in model.ask(asks)] == [model.ask([ask])[0].text for ask in asks]


def test_the_audio_only_processor_makes_the_features_of_the_whole_window(built, recordings):
    """The real one fills every clip up to the window."""
    from pytest_audiobench.models.hf.processors import qwen25_omni

    processor = qwen25_omni(built("qwen25_omni_thinker"), False)
    clips = [heard.samples for heard in recordings()]
    made = processor(["<|AUDIO|>"] * len(clips), audio=clips)
    whole = processor.feature_extractor(
        clips, sampling_rate=16_000, padding="max_length", return_attention_mask=True, return_tensors="np"
    )
    frames = made["input_features"].shape[-1]
    assert frames < whole["input_features"].shape[-1]
    assert np.array_equal(made["input_features"].numpy(), whole["input_features"][..., :frames])
    assert np.array_equal(made["feature_attention_mask"].sum(-1).numpy(), whole["attention_mask"].sum(-1))


@pytest.mark.parametrize("window_s", [1, 30])
@pytest.mark.parametrize(
    "lengths",
    [[2_000], [16_000, 4_000], [20_000, 300, 9_001, 12_345], [14_000, 15_999]],
    ids=["one clip", "a whole second", "more than a second", "nearly a second"],
)
def test_tensors_for_qwen2_audio_are_those_of_its_own_processor(tiny_checkpoint, window_s, lengths):
    import torch

    random = np.random.default_rng(3)
    clips = [random.normal(0, 0.1, size=n).astype(np.float32) for n in lengths]
    asked = [(f"<|im_start|>{HEARD}Which digit?", [clip]) for clip in clips]
    asked += [("Which digit?", []), (f"{HEARD} or {HEARD}, the first or the second?", [clips[0], clips[-1]])]
    made, expected = _qwen2_audio_tensors(tiny_checkpoint, asked, chunk_length=window_s)
    assert set(made) == set(expected)
    for name, tensor in expected.items():
        assert made[name].dtype == tensor.dtype
        assert torch.equal(made[name], tensor), name


def test_a_front_end_of_qwen2_audio_that_is_not_the_published_one_is_asked_itself(tiny_checkpoint):
    asked = [("<|AUDIO|>Which digit?", [np.zeros(4_000, dtype=np.float32)])]
    made, expected = _qwen2_audio_tensors(tiny_checkpoint, asked, chunk_length=1, padding_value=0.5)
    assert np.array_equal(made["input_features"], expected["input_features"])


def _qwen2_audio_tensors(folder, asked, **extractor):
    """What is made of texts and clips here, and by the processor itself."""
    import transformers

    from pytest_audiobench.models.hf.generation import Prompt, by_processor
    from pytest_audiobench.models.hf.processors import qwen2_audio_inputs

    processor = transformers.AutoProcessor.from_pretrained(folder)
    processor.tokenizer.padding_side = "left"
    processor.feature_extractor = transformers.WhisperFeatureExtractor(feature_size=32, **extractor)
    prompts = [Prompt("", [], text, clips, [""] * len(clips)) for text, clips in asked]
    return qwen2_audio_inputs(processor, prompts, 16_000), by_processor(processor, prompts, 16_000)


@pytest.mark.parametrize("name", ["qwen25_omni", "qwen3_omni"])
def test_prompts_padded_on_the_right_change_the_answers_of_the_shorter_ones_in_a_batch(
    model_of, ask_about, heard, name
):
    clips = [heard(np.sin(np.arange(length) / 9)) for length in (64_000, 64_000, 24_000, 20_000)]
    asks = [ask_about("What is it?", clip, task="open", max_new_tokens=8, key=str(i)) for i, clip in enumerate(clips)]
    left, right = ([one.text for one in model_of(name, padding=side).ask(asks)] for side in ("left", "right"))
    alone = [model_of(name, padding="right").ask([ask])[0].text for ask in asks]
    assert alone == left
    assert [a == b for a, b in zip(left, right, strict=True)] == [True, True, False, False]


@pytest.mark.parametrize("name", ["classifier", "ctc", "whisper"])
def test_a_family_that_is_given_no_prompt_has_no_side_to_pad_it_on(built, name):
    with pytest.raises(UsageError, match=r"padding=… does not apply to .*, which is given no prompt of tokens"):
        _ = HfModel(str(built(name)), {"padding": "right"}).limits


def test_a_processor_that_pads_on_the_left_whatever_it_is_asked_is_refused(model_of, asks_of):
    model = model_of("audioflamingo3", padding="right")
    with pytest.raises(FatalError, match="pads on the left whatever it is asked: leave padding=right out"):
        model.ask(asks_of(model, "open", max_new_tokens=2))


@pytest.mark.parametrize("kernel", ["eager", "sdpa"])
@pytest.mark.parametrize("name", ["qwen25_omni", "audioflamingo3", "whisper"])
def test_every_part_of_a_model_attends_by_the_kernel_that_its_spec_names(model_of, name, kernel):
    parts = model_of(name, attn=kernel)._engine.model.modules()
    assert {part.config._attn_implementation for part in parts if hasattr(part, "config")} == {kernel}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", ["qwen25_omni", "audioflamingo3", "whisper"])
def test_a_family_answers_on_a_cpu_in_less_than_float32(model_of, asks_of, name, dtype):
    model = model_of(name, dtype=dtype)
    responses = model.ask(asks_of(model, TASKS[name], max_new_tokens=4))
    assert [response.error for response in responses] == [None] * len(responses)
    assert str(model._engine.model.dtype) == f"torch.{dtype}"


def test_a_whole_omni_checkpoint_answers_as_its_thinker(model_of, asks_of):
    thinker, whole = model_of("qwen25_omni_thinker"), model_of("qwen25_omni")
    asks = asks_of(thinker, "open", max_new_tokens=8)
    assert [one.text for one in whole.ask(asks)] == [one.text for one in thinker.ask(asks)]
    assert whole.fingerprint()["weights"] != thinker.fingerprint()["weights"]


def test_voxtral_hears_every_sample_as_it_was_played(built, recordings):
    from pytest_audiobench.models.hf.generation import Prompt
    from pytest_audiobench.models.hf.processors import voxtral, voxtral_inputs

    processor = voxtral(built("voxtral"), False)
    clip = recordings()[0].samples * np.float32(1.0001)  # no longer on the grid of 16 bits
    turns = [{"role": "user", "content": [{"type": "audio"}, {"type": "text", "text": "What?"}]}]
    made = voxtral_inputs(processor, [Prompt("", turns, "", [clip], [""])], 16_000)
    exact = processor.feature_extractor(
        np.pad(clip, (0, 480_000 - len(clip))), sampling_rate=16_000, return_tensors="np"
    )
    assert np.array_equal(made["input_features"].numpy(), exact["input_features"])


# Audio that is proven to arrive


@pytest.mark.parametrize("name", CHAT)
def test_a_prompt_that_grows_with_the_audio_proves_hearing(model_of, name):
    hearing = model_of(name).hearing
    assert hearing.status == "proven"
    assert "adds" in hearing.evidence


@pytest.mark.parametrize("name", [*TRANSCRIBERS, *CHOOSERS])
def test_of_an_input_of_fixed_length_other_scores_for_noise_than_for_silence_prove_hearing(model_of, name):
    hearing = model_of(name).hearing
    assert hearing.status == "proven"
    assert "for a second of noise are others than for silence" in hearing.evidence


@pytest.mark.parametrize("name", [*TRANSCRIBERS, *CHOOSERS])
def test_a_model_whose_features_are_the_same_for_any_sound_is_not_proven_to_hear(model_of, name, monkeypatch):
    import torch

    engine = model_of(name)._engine
    on_device = engine.on_device

    def dropped(inputs):
        made = on_device(inputs)
        return {key: torch.zeros_like(value) if value.is_floating_point() else value for key, value in made.items()}

    monkeypatch.setattr(engine, "on_device", dropped)
    with torch.inference_mode():
        assert engine.prove().status == "unproven"


def test_a_model_that_is_not_loaded_says_nothing_of_its_hearing(built):
    model = HfModel(str(built("ctc")))
    assert model.hearing is None
    assert model.peak_memory_bytes is None


def test_memory_in_use_is_told_once_loaded(model_of):
    assert model_of("ctc").peak_memory_bytes > 10_000_000


def test_a_processor_that_ignores_its_audio_argument_is_refused(built):
    from dataclasses import replace

    from pytest_audiobench.models.hf.engine import Setup
    from pytest_audiobench.models.hf.generation import Generator
    from pytest_audiobench.models.hf.loading import Load

    def old_name(processor, prompts, rate_hz):
        return processor.tokenizer([prompt.text for prompt in prompts], padding=True, return_tensors="pt")

    deaf = replace(FAMILIES["audioflamingo3"], inputs=old_name)
    with pytest.raises(FatalError, match="does not grow with the audio"):
        Generator(Setup(Load(built("audioflamingo3"), deaf), 16_000))


# Tasks and clips


@pytest.mark.parametrize(
    ("name", "task", "can"),
    [
        ("ctc", "open", "transcription"),
        ("whisper", "choice", "transcription"),
        ("clap", "open", "choice"),
        ("classifier", "transcription", "choice"),
    ],
)
def test_a_task_that_a_family_cannot_do_is_refused_with_what_it_can(model_of, asks_of, name, task, can):
    model = model_of(name)
    assert model.limits.tasks == (can,)
    (answer,) = model.ask(asks_of(model, task)[:1])
    assert f"can do {can} and nothing else, and is asked for {task}" in answer.error


@pytest.mark.parametrize("name", [*TRANSCRIBERS, *CHOOSERS])
def test_several_clips_or_none_are_errors_where_one_is_taken(model_of, ask_about, heard, name):
    model = model_of(name)
    clip = heard(np.zeros(16_000), model.limits.rate_hz)
    task = TASKS[name]
    two, none = model.ask([ask_about("?", clip, clip, task=task), ask_about("?", task=task)])
    assert "plays 2 clips" in two.error
    assert "plays no clip" in none.error


def test_clips_and_no_clips_can_be_asked_together_where_the_processor_wants_one_each(model_of, ask_about, recordings):
    model = model_of("audioflamingo3")
    plain = ask_about("What is it?", task="open", max_new_tokens=4)
    played = [ask_about("What is it?", one, task="open", max_new_tokens=4) for one in recordings()[:2]]
    mixed = [played[0], plain, played[1]]
    assert [one.text for one in model.ask(mixed)] == [model.ask([ask])[0].text for ask in mixed]


# Audio beyond the window


def test_a_long_transcript_is_its_windows_transcripts(model_of, ask_about, heard, recordings):
    model = model_of("whisper", batch="2")
    samples = np.concatenate([one.samples for one in recordings()])[: 16_000 * 9]
    windows = [heard(samples[start : start + 32_000]) for start in range(0, len(samples), 32_000)]
    long = ask_about("Write.", heard(samples), task="transcription", max_new_tokens=6)
    short = ask_about("Write.", windows[1], task="transcription", max_new_tokens=6)
    told, other = model.ask([long, short])
    pieces = [model.ask([ask_about("Write.", one, task="transcription", max_new_tokens=6)])[0] for one in windows]
    assert told.text == " ".join(filter(None, (piece.text for piece in pieces)))
    assert told.usage["pieces"] == len(windows) > 2
    assert told.usage["completion_tokens"] == sum(piece.usage["completion_tokens"] for piece in pieces)
    assert told.finish == "length"
    assert other == pieces[1]


def test_a_chat_model_transcribes_in_pieces_and_hears_no_other_task_beyond_its_window(
    model_of, ask_about, heard, recordings
):
    model = model_of("qwen25_omni_thinker")
    long = heard(np.concatenate([one.samples for one in recordings()] * 2)[: 16_000 * 15])
    written, answered, several = model.ask(
        [
            ask_about("Transcribe the speech.", long, task="transcription", max_new_tokens=4),
            ask_about("What is it?", long, task="open", max_new_tokens=4),
            ask_about("Transcribe both.", long, long, task="transcription", max_new_tokens=4),
        ]
    )
    assert written.usage["pieces"] == 2
    assert "hears 10 s" in answered.error
    assert "only a single clip can be taken piece by piece" in several.error


@pytest.mark.parametrize(
    ("name", "window_s"),
    [
        ("whisper", 2.0),
        ("whisper_classifier", 2.0),
        ("ast", 1.0),
        ("clap", 10.0),
        ("ctc", 60.0),
        ("audioflamingo3", 600),
    ],
)
def test_the_window_is_what_the_front_end_says_or_else_the_familys(built, name, window_s):
    assert HfModel(str(built(name))).limits.max_clip_s == window_s


def test_limits_say_which_task_is_cut_to_the_window(built):
    limits = HfModel(str(built("whisper"))).limits
    assert (limits.window_s("transcription"), limits.window_s("choice")) == (None, 2.0)


# Transcribers and classifiers


def test_whisper_is_told_its_language_or_guesses_it(model_of, asks_of, built):
    asks = asks_of(model_of("whisper"), "transcription", max_new_tokens=6)
    texts = {}
    for options in ({}, {"language": "de"}, {"language": "ja"}):
        model = model_of("whisper", **options)
        texts[options.get("language")] = [one.text for one in model.ask([asks[3]])]
    assert texts["de"] != texts["ja"]
    plain = HfModel(str(built("whisper"))).fingerprint()
    spoken = HfModel(str(built("whisper")), {"language": "de"}).fingerprint()
    assert spoken.items() - plain.items() == {("chosen", "language=de")}


def test_a_language_that_whisper_has_not_is_refused_at_load(model_of):
    with pytest.raises(FatalError, match="cannot transcribe with language=xx"):
        model_of("whisper", language="xx")


def test_a_language_for_a_whisper_that_knows_one_is_refused(built, tmp_path):
    folder = shutil.copytree(built("whisper"), tmp_path / "english")
    said = json.loads((folder / "generation_config.json").read_text())
    (folder / "generation_config.json").write_text(json.dumps(said | {"is_multilingual": False}))
    with pytest.raises(FatalError, match="not a multilingual checkpoint"):
        HfModel(str(folder), {"device": "cpu", "language": "en"}).load()


def test_an_answer_cannot_be_longer_than_whispers_decoder(model_of, asks_of):
    model = model_of("whisper")
    told = model.ask(asks_of(model, "transcription", max_new_tokens=1000)[:2])
    assert all(one.usage["completion_tokens"] <= 60 and one.finish in ("stop", "length") for one in told)


def test_beams_and_penalties_are_options_where_text_is_generated(model_of, asks_of, built):
    one, three = model_of("qwen25_omni_thinker"), model_of("qwen25_omni_thinker", beams="3", repetition_penalty="1.5")
    asks = asks_of(one, "open", max_new_tokens=8)
    assert [r.text for r in one.ask(asks)] != [r.text for r in three.ask(asks)]
    assert three.fingerprint()["chosen"] == "beams=3,repetition_penalty=1.5"


@pytest.mark.parametrize(
    ("name", "option", "said"),
    [
        ("ctc", {"beams": "2"}, "none of its own"),
        ("clap", {"language": "de"}, "are: template"),
        ("qwen25_omni", {"labels": "a:b"}, "are: beams, repetition_penalty"),
    ],
)
def test_an_option_of_another_family_is_refused(built, name, option, said):
    with pytest.raises(UsageError, match=said):
        HfModel(str(built(name)), option).limits  # noqa: B018


def test_a_classifier_chooses_among_the_options_by_its_labels(model_of, ask_about, recordings):
    plain = model_of("classifier")
    heard = recordings()[2]
    best = CHOICES["ABCD".index(plain.ask([ask_about("?", heard, choices=CHOICES)])[0].text)]
    rest = tuple(choice for choice in CHOICES if choice != best)
    assert plain.ask([ask_about("?", heard, choices=rest)])[0].text in ("A", "B", "C")
    turned = (*rest, best.upper())
    assert plain.ask([ask_about("?", heard, choices=turned)])[0].text == "D"


def test_labels_can_be_said_to_mean_options(model_of, ask_about, recordings):
    heard = recordings()[2]
    spoken = ("Happy", "Sad", "Angry", "Neutral")
    unknown = model_of("classifier").ask([ask_about("?", heard, choices=spoken)])[0]
    assert "no label for the option 'Happy'; it has ang, hap, neu, sad" in unknown.error
    told = model_of("classifier", labels="hap:happy|ang:angry|neu:neutral")
    plain = model_of("classifier").ask([ask_about("?", heard, choices=CHOICES)])[0]
    assert told.ask([ask_about("?", heard, choices=spoken)])[0] == plain


@pytest.mark.parametrize("labels", ["hap", "hap:", ":happy"])
def test_labels_that_cannot_be_read_are_refused_at_once(labels):
    with pytest.raises(UsageError, match="write LABEL:OPTION"):
        HfModel("anything", {"labels": labels})


def test_a_label_that_the_classifier_has_not_is_refused_at_load(model_of):
    with pytest.raises(UsageError, match=r"names 'joy'; .* has ang, hap, neu, sad"):
        model_of("classifier", labels="joy:happy")


@pytest.mark.parametrize("fusion", [False, True])
def test_clap_is_deterministic_and_scores_its_choice(model_of, asks_of, fusion):
    model = model_of("clap", {"fusion": fusion})
    asks = asks_of(model, "choice")
    first = model.ask(asks)
    assert first == model.ask(asks)
    alone = [model.ask([ask])[0].outputs[0].score for ask in asks]
    assert [one.outputs[0].score for one in first] == pytest.approx(alone, rel=1e-4)
    assert all(1 / len(CHOICES) <= score <= 1 for score in alone)


def test_clap_answers_yes_or_no_by_the_questions_own_text(model_of, ask_about, recordings):
    model = model_of("clap")
    heard = recordings(48_000, 10.0)[0]
    listed = "Is a dog barking?\n(A) yes\n(B) no\nAnswer with the letter of the correct option."
    yes = model.ask([ask_about(listed, heard, choices=("yes", "no"))])[0]
    turned = model.ask([ask_about(listed, heard, choices=("no", "yes"))])[0]
    named = model.ask([ask_about("Which?", heard, choices=("Is a dog barking?", "something else"))])[0]
    assert yes.outputs[0].score == named.outputs[0].score
    assert (yes.text == "A") == (named.text == "yes")
    assert {yes.text, turned.text} == {"A", "B"}


def test_clap_answers_a_probe_by_the_label_alone(model_of, ask_about, recordings):
    model = model_of("clap")
    offered = ("siren", SOMETHING_ELSE)
    for heard in recordings(48_000, 10.0)[:3]:
        said, in_other_words, turned = (
            model.ask([ask_about(text, heard, choices=choices)])[0]
            for text, choices in (
                ("Do you hear a siren?", offered),
                ("Is there a siren?", offered),
                ("Do you hear a siren?", offered[::-1]),
            )
        )
        assert (said.text, said.outputs[0].score) == (in_other_words.text, in_other_words.outputs[0].score)
        assert said.text == turned.text
        assert said.text in ("yes", "no")
        assert said.outputs[0].score == turned.outputs[0].score


def test_a_classifier_gives_something_else_what_its_label_leaves(model_of, ask_about, recordings):
    model = model_of("classifier")
    heard = recordings(16_000, model.limits.max_clip_s)[0]
    probes = [model.ask([ask_about("Is it there?", heard, choices=(one, SOMETHING_ELSE))])[0] for one in CHOICES]
    shares = [one.outputs[0].score if one.text == "yes" else 1.0 - one.outputs[0].score for one in probes]
    assert sum(shares) == pytest.approx(1.0, abs=1e-5)
    unknown = model.ask([ask_about("Is it there?", heard, choices=("siren", SOMETHING_ELSE))])[0]
    assert "no label for the option 'siren'" in unknown.error


@pytest.mark.parametrize("template", ["a sound", "{} and {}", "{0}"])
def test_a_template_for_clap_has_one_place_for_the_option(template):
    with pytest.raises(UsageError, match="once, for the option"):
        HfModel("anything", {"template": template})


# The table


def test_the_table_names_auto_classes_and_hooks_that_exist():
    transformers = pytest.importorskip("transformers")
    for name, family in (FAMILIES | HEADS).items():
        assert name in SINCE or any(hasattr(transformers, kind) for kind in family.classes)
        assert family.hook("engine") is not None
        for name in ("processor", "render", "inputs"):
            assert getattr(family, name) is None or callable(family.hook(name))


def test_a_family_that_the_installed_transformers_asks_wrongly_is_named_with_the_release_it_needs(
    tmp_path, monkeypatch
):
    (tmp_path / "config.json").write_text('{"model_type": "voxtral"}')
    monkeypatch.setattr(hf_model, "version", lambda name: "5.13.0")
    said = "'voxtral' models need transformers 5.16 or newer, and 5.13.0 is installed: pip install 'transformers>=5.16'"
    assert HfModel(str(tmp_path)).missing_parts() == said
    monkeypatch.setattr(hf_model, "version", lambda name: "5.16.0")
    assert "transformers" not in HfModel(str(tmp_path)).missing_parts()


def test_an_unproven_family_warns_when_it_is_loaded(built, tmp_path):
    folder = shutil.copytree(built("qwen25_omni_thinker"), tmp_path / "copy")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "gemma3n"}))
    model = HfModel(str(folder), {"device": "cpu"})
    unproven = "of type 'gemma3n', which the tests of pytest-audiobench have not run"
    with pytest.raises(FatalError), pytest.warns(UserWarning, match=unproven):
        model.load()


@pytest.fixture
def own_families(monkeypatch):
    monkeypatch.setattr(families, "_ADDED", {})


def test_an_added_family_goes_before_the_packages_own(own_families):
    mine = Family(window_s=7.0)
    families.register_family("whisper", mine)
    assert families.family_of({"model_type": "whisper"}) is mine
    assert families.family_of({"model_type": "voxtral"}) is FAMILIES["voxtral"]
    named = Family(window_s=8.0)
    families.register_family("LabForCTC", named)
    assert families.family_of({"model_type": "whisper", "architectures": ["LabForCTC"]}) is named
    assert families.family_of({"model_type": "hubert", "architectures": ["HubertForCTC"]}) is HEADS["ForCTC"]


def test_one_family_may_be_added_twice_and_two_under_one_name_may_not(own_families):
    families.register_family("lab", Family(window_s=7.0))
    families.register_family("lab", Family(window_s=7.0))
    with pytest.raises(UsageError, match="two families of models are registered as 'lab'"):
        families.register_family("lab", Family(window_s=8.0))


def test_a_hook_that_cannot_be_imported_is_named():
    with pytest.raises(UsageError, match="the engine of a model family, nowhere:Nothing, cannot be imported"):
        Family(engine="nowhere:Nothing").hook("engine")
    with pytest.raises(UsageError, match="cannot be imported"):
        Family(engine="json:Nothing").hook("engine")
