"""Hostile checkpoints for ``hf:``, drawn from a seed, fingerprinted, loaded and asked in their own process.

Run as a module with a folder and numbers: ``outcomes.jsonl`` in the folder gets a line before each and one behind it.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import pickle
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from .file_damage import _nodes
from .tally import Tally

NAME = "checkpoints"
PROMISE = (
    "A hostile checkpoint is loaded or refused in a sentence with its path: none of its code runs, nothing is fetched, "
    "and a file that was changed is never taken for the one that it was."
)
LONGEST_S, HANG_S, MOST_BYTES = 15.0, 120.0, 4 << 30
"""CPU time for one checkpoint; wall time before the process ends; and of address space beside torch's."""
GOOD = Path(__file__).parents[2] / "fixtures" / "checkpoints" / "good"
_WEIGHTS = "model.safetensors"


def run(seeds: Iterable[int]) -> Tally:
    """Tries a checkpoint for each seed; the seeds follow each other."""
    tally, started, numbers = Tally(), time.monotonic(), list(seeds)
    first, last = numbers[0], numbers[-1] + 1
    while first < last:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", __name__, folder, str(first), str(last)]
            process = subprocess.run(command, capture_output=True, check=False, cwd=GOOD.parents[2])
            path = Path(folder, "outcomes.jsonl")
            rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        for row in filter(lambda row: "outcome" in row, rows):
            kind = row["outcome"].partition(":")[0]
            tally.tried += 1
            tally.notes.append(kind)
            tally.lost += kind in ("silent", "ran")
            tally.raw += kind == "raw"
            tally.hangs += kind == "slow"
            if kind not in ("loaded", "refused"):
                tally.mistakes.append(f"seed {row['seed']}: {row['how']}: {row['outcome']}")
        if not process.returncode:
            break
        # What ends the process is the last that was started; the others are tried in another.
        begun = rows[-1]["seed"] if rows else first
        tally.tried += 1
        tally.hangs += b"Timeout" in process.stderr
        end = process.stderr.decode(errors="replace")[-1500:]
        tally.mistakes.append(f"seed {begun}: the process ended with {process.returncode}: {end}")
        first = begun + 1
    tally.seconds = time.monotonic() - started
    return tally


class _Runs:
    """What a pickle runs that is read."""

    def __init__(self, canary: Path) -> None:
        self._canary = canary

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os.mkdir, (str(self._canary),)


def hostile(folder: Path, canary: Path, seed: int) -> str:
    """A copy of a good checkpoint in ``folder``, made hostile as drawn; the names of what was done to it."""
    drawn = random.Random(f"hostile checkpoint {seed}")
    names = []
    for _ in range(drawn.choice([1, 1, 1, 2])):
        change = drawn.choice(_CHANGES)
        names.append(change.__name__.strip("_"))
        # What was done before may leave nothing that this could change.
        with contextlib.suppress(
            OSError, ValueError, RecursionError, TypeError, AttributeError, LookupError, struct.error
        ):
            change(folder, canary, drawn)
        if change in (_link, _pipe):  # which the next would wait for, or read without end
            break
    return ", ".join(names)


def _head(folder: Path) -> tuple[dict[str, Any], bytes]:
    content = (folder / _WEIGHTS).read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def _write_head(folder: Path, head: Any, data: bytes) -> None:
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    (folder / _WEIGHTS).write_bytes(struct.pack("<Q", len(text)) + text + data)


def _safetensors_length(folder: Path, _: Path, drawn: random.Random) -> None:
    content = (folder / _WEIGHTS).read_bytes()
    length = drawn.choice([0, 1, 7, 100, len(content), 2**31, 2**40, 2**63, 2**64 - 1])
    (folder / _WEIGHTS).write_bytes(struct.pack("<Q", length) + content[8:])


def _safetensors_cut(folder: Path, _: Path, drawn: random.Random) -> None:
    content = (folder / _WEIGHTS).read_bytes()
    (folder / _WEIGHTS).write_bytes(content[: drawn.choice([0, 4, 8, 9, 500, len(content) - 1, len(content) // 2])])


def _safetensors_bits(folder: Path, _: Path, drawn: random.Random) -> None:
    content = bytearray((folder / _WEIGHTS).read_bytes())
    for _ in range(drawn.choice([1, 4, 30])):
        content[drawn.randrange(drawn.choice([8, 2_000, len(content)]))] ^= 1 << drawn.randrange(8)
    (folder / _WEIGHTS).write_bytes(content)


def _safetensors_head(folder: Path, _: Path, drawn: random.Random) -> None:
    """Other shapes, kinds and places of weights than the file has."""
    head, data = _head(folder)
    for _ in range(drawn.choice([1, 1, 3])):
        name = drawn.choice([name for name in head if name != "__metadata__"])
        weight = head[name]
        start, end = weight["data_offsets"]
        how = drawn.randrange(9)
        if how == 0:
            weight["shape"] = drawn.choice([[], [0], [-1], [2**40, 2**40], [1] * 5_000, [*weight["shape"][::-1], 1]])
        elif how == 1:
            weight["dtype"] = drawn.choice(["F16", "F64", "I64", "BOOL", "F8_E5M2", "X", ""])
        elif how == 2:
            weight["data_offsets"] = drawn.choice([[end, start], [0, 0], [start, 2**63], [-1, end], [start, end - 4]])
        elif how == 3:
            del head[name]
        elif how == 4:
            head[drawn.choice(["../x", "", "__metadata__", "a" * 100_000, name + ".x"])] = head.pop(name)
        elif how == 5:
            weight["shape"] = [number * 2 for number in weight["shape"]]
        elif how == 6:
            head["__metadata__"] = drawn.choice(
                [{}, {"format": "tf"}, {"format": 3}, [], {"format": "pickle"}, {"a": "b" * 10**6}]
            )
        else:
            other = drawn.choice([name for name in head if name != "__metadata__"])
            head[name], head[other] = head[other], head[name]
    _write_head(folder, head, data)


def _safetensors_json(folder: Path, _: Path, drawn: random.Random) -> None:
    _, data = _head(folder)
    heads = [
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b"null",
        b"\xff\xfe",
        b"{}",
        b'{"a": {"dtype": "F32"}}',
        b" " * 1_000_000,
    ]
    _write_head(folder, drawn.choice(heads), data)


def _weights_of_no_number(folder: Path, _: Path, drawn: random.Random) -> None:
    head, data = _head(folder)
    content = bytearray(data)
    value = struct.pack("<f", drawn.choice([float("nan"), float("inf"), -float("inf"), 3e38, 1e-44]))
    start = drawn.randrange(0, len(content) // 4) * 4
    count = min(drawn.choice([1, 100, 10**6]), len(content) // 4 - start // 4)
    content[start : start + 4 * count] = value * count
    _write_head(folder, head, bytes(content))


def _pickle(folder: Path, canary: Path, drawn: random.Random) -> None:
    """Weights that run code when they are read, in place of the safetensors or beside them, under any name."""
    content = pickle.dumps(_Runs(canary), protocol=drawn.choice([2, 4]))
    names = [_WEIGHTS, "pytorch_model.bin", "model.pt", "adapter_model.bin", "optimizer.pt", "tokenizer.model"]
    names += ["tokenizer.pkl", "training_args.bin", "spm.model", "vocab.json", "vocab.txt", "scaler.pt"]
    name = drawn.choice(names)
    if drawn.random() < 0.4:
        (folder / _WEIGHTS).unlink(missing_ok=True)
    (folder / name).write_bytes(content)
    if name.startswith("adapter"):
        (folder / "adapter_config.json").write_text(
            json.dumps({"peft_type": "LORA", "target_modules": ["q_proj"], "r": 2})
        )


def _weight_map(folder: Path, canary: Path, drawn: random.Random) -> None:
    """An index of weights that names other files than those beside it."""
    head, _ = _head(folder)
    name = drawn.choice(
        ["../outside.safetensors", str(canary.parent / "outside.safetensors"), "none", "", ".", "a\0b", 7]
    )
    shutil.move(folder / _WEIGHTS, folder.parent / "outside.safetensors")
    if drawn.random() < 0.3:
        shutil.copy(folder.parent / "outside.safetensors", folder / _WEIGHTS)
    maps: list[Any] = [dict.fromkeys(head, name), [], {}, None, {"a": {"b": "c"}}, dict.fromkeys(head, _WEIGHTS)]
    index = {"metadata": {}, "weight_map": drawn.choice(maps)}
    (folder / (_WEIGHTS + ".index.json")).write_text(json.dumps(index))


def _code(folder: Path, canary: Path, drawn: random.Random) -> None:
    """Code beside the weights, which configurations call for."""
    code = f"import os\nos.mkdir({str(canary)!r})\nfrom transformers import *\n"
    for name in ("lab.py", "modeling_lab.py", "custom_generate/generate.py", "setup.py", "conftest.py", "__init__.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(code + "class Lab(Qwen2AudioConfig):\n    model_type = 'lab'\n")
    where = drawn.choice(
        ["lab.Lab", "modeling_lab.Lab", "owner/name--lab.Lab", "../lab.Lab", "os.system", ["lab.Lab", None]]
    )
    kinds = [
        "AutoConfig",
        "AutoModelForMultimodalLM",
        "AutoModel",
        "AutoProcessor",
        "AutoTokenizer",
        "AutoFeatureExtractor",
    ]
    changes: dict[str, Any] = {"auto_map": dict.fromkeys(kinds, where)}
    changes |= drawn.choice([{}, {"trust_remote_code": True}, {"model_type": "lab"}, {"custom_generate": "lab"}])
    changes |= drawn.choice([{}, {"tokenizer_class": "Lab", "processor_class": "Lab", "feature_extractor_type": "Lab"}])
    files = [path for path in folder.glob("*config.json") if drawn.random() < 0.6] or [folder / "config.json"]
    for path in files:
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


_VALUES: list[Any] = [
    *[
        None,
        True,
        0,
        -1,
        1,
        3,
        10**6,
        10**9,
        10**12,
        2**63,
        2**70,
        -(10**9),
        0.5,
        -1e308,
        "",
        "x",
        "../x",
        "lab",
        [],
        {},
    ],
    *[
        "a" * 100_000,
        "\ud800",
        "\0",
        "/etc/passwd",
        "http://127.0.0.1:9/x",
        "float16",
        "eager",
        "flash_attention_2",
        [1] * 999,
    ],
    *[
        {"a": 1},
        ["full_attention"] * 5_000,
        "auto",
        "{{ 1 }}",
        float("nan"),
        "owner/name",
        "cuda:7",
        "meta",
        "gpt2",
        "qwen3",
    ],
]
_CONFIGS = ["config.json"] * 4 + ["preprocessor_config.json", "processor_config.json"] * 2
_CONFIGS += ["generation_config.json", "tokenizer_config.json"] * 2 + ["tokenizer.json"] * 4


def _value(folder: Path, _: Path, drawn: random.Random) -> None:
    """Values of a configuration gone or hostile."""
    path = folder / drawn.choice(_CONFIGS)
    value = json.loads(path.read_text())
    for _ in range(drawn.choice([1, 1, 2, 5])):
        places = list(_nodes(value))
        if path.name == "tokenizer.json":
            places = [place for place in places if not isinstance(place[1], int) or len(place[0]) < 50] or places
        holder, name = drawn.choice(places)
        if drawn.random() < 0.25:
            del holder[name]
        else:
            holder[name] = drawn.choice(_VALUES)
    path.write_bytes(json.dumps(value).encode())


_KEYS = {
    "config.json": {
        "num_hidden_layers": 10**7,
        "vocab_size": 10**10,
        "torch_dtype": "x",
        "quantization_config": {"quant_method": "x"},
    },
    "generation_config.json": {
        **{
            "max_new_tokens": 10**9,
            "num_beams": 10**6,
            "num_return_sequences": 10**6,
            "min_length": 10**9,
            "max_time": -1,
        },
        **{
            "custom_generate": "owner/name",
            "temperature": 0,
            "top_k": -5,
            "bad_words_ids": [[]],
            "cache_implementation": "x",
        },
        **{
            "eos_token_id": [10**9],
            "pad_token_id": 10**9,
            "stop_strings": ["a"] * 1000,
            "watermarking_config": {"bias": 1},
        },
        **{"assistant_model": "owner/name", "prompt_lookup_num_tokens": 10, "compile_config": {}, "guidance_scale": 9},
    },
    "tokenizer_config.json": {
        **{"tokenizer_class": "GPT2Tokenizer", "vocab_file": "/etc/passwd", "tokenizer_file": "../tokenizer.json"},
        **{"added_tokens_decoder": {"999999999": {"content": "x"}}, "extra_special_tokens": {"__class__": "x"}},
        **{"chat_template": "{{ 1 }}", "model_max_length": -1, "init_inputs": ["../x"], "name_or_path": "owner/name"},
    },
    "preprocessor_config.json": {"sampling_rate": 10**9, "chunk_length": 10**7, "n_fft": 10**7, "feature_size": 10**6},
    "processor_config.json": {
        "audio_tokenizer": {"audio_tokenizer_class": "AutoModel", "audio_tokenizer_name_or_path": "o/n"}
    },
}


def _key(folder: Path, _: Path, drawn: random.Random) -> None:
    """A key that asks for much, or for something elsewhere."""
    name = drawn.choice(list(_KEYS))
    value = json.loads((folder / name).read_text())
    key = drawn.choice(list(_KEYS[name]))
    holders = [value, *(part for part in value.values() if isinstance(part, dict) and key in part)]
    drawn.choice(holders[1:] or holders)[key] = _KEYS[name][key]
    (folder / name).write_text(json.dumps(value))


def _text(folder: Path, _: Path, drawn: random.Random) -> None:
    """What is not JSON, or nested without end, in place of a file."""
    deep = drawn.choice([900, 100_000])
    contents = [
        b"",
        b"null",
        b"[]",
        b"[" * deep,
        b'{"a":' * deep + b"1" + b"}" * deep,
        b"\xff\xfe",
        b"{",
        b'{"a": NaN}',
    ]
    (folder / drawn.choice(_CONFIGS)).write_bytes(drawn.choice([*contents, b'{"a":' + b"9" * 5_000 + b"}"]))


def _large_tokenizer(folder: Path, _: Path, drawn: random.Random) -> None:
    value = json.loads((folder / "tokenizer.json").read_text())
    how = drawn.randrange(4)
    if how == 0:
        count = drawn.choice([20_000, 200_000])
        value["model"]["vocab"] |= {f"word{number}": 1_000 + number for number in range(count)}
    elif how == 1:
        tokens = [
            {**value["added_tokens"][0], "id": 1_000 + number, "content": f"<t{number}>"} for number in range(20_000)
        ]
        value["added_tokens"] += tokens
    elif how == 2:
        value["added_tokens"][0]["content"] = "x" * 10_000_000
    else:
        value["model"]["merges"] = value["model"].get("merges", []) * 50 + [["a" * 10**6, "b"]]
    (folder / "tokenizer.json").write_text(json.dumps(value))


def _tokenizer_pattern(folder: Path, _: Path, drawn: random.Random) -> None:
    """A pattern that takes a tokenizer very long."""
    value = json.loads((folder / "tokenizer.json").read_text())
    pattern = {"Regex": drawn.choice([r"(\w+\s*)+$", r"(a|a|.)+!", r"(?:(?:.*)*)*x", "(", "", r"(.)\1{99999}"])}
    if drawn.random() < 0.5:
        value["normalizer"] = {"type": "Replace", "pattern": pattern, "content": drawn.choice(["", "x" * 10**6])}
    else:
        value["pre_tokenizer"] = {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}
    (folder / "tokenizer.json").write_text(json.dumps(value))


def _template(folder: Path, canary: Path, drawn: random.Random) -> None:
    name = str(canary)
    reach = "''.__class__.__mro__[1].__subclasses__()"
    templates = [
        "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}",
        "{% for m in messages %}" * 60 + "x" + "{% endfor %}" * 60,
        "{{ 'x' * 10000000000 }}",
        "{{ 10 ** 10 ** 10 }}",
        "{% include '/etc/passwd' %}",
        f"{{{{ cycler.__init__.__globals__.os.mkdir({name!r}) }}}}",
        f"{{% for c in {reach} %}}{{{{ c.__init__.__globals__['os'].mkdir({name!r}) }}}}{{% endfor %}}",
        f"{{{{ strftime_now.__globals__['os'].mkdir({name!r}) }}}}",
        "{% macro f(n) %}{{ f(n) }}{% endmacro %}{{ f(1) }}",
        "{{",
        "",
        "{{ raise_exception('x' * 100000) }}",
        "{% generation %}{% endgeneration %}",
        "\0\ud800",
        "{{ messages[99].content }}",
        "(" * 5_000,
        "{{ " + "(" * 5_000 + ")" * 5_000 + " }}",
        "{% if x %}" * 3_000,
        "{{ '<|AUDIO|>' * 100000 }}",
        "{{ 'no audio here' }}",
    ]
    template = drawn.choice(templates)
    place = drawn.choice(["chat_template.jinja"] * 3 + ["chat_template.json", "tokenizer_config.json"])
    if place.endswith(".jinja"):
        (folder / place).write_bytes(template.encode("utf-8", "surrogatepass"))
        return
    (folder / "chat_template.jinja").unlink(missing_ok=True)
    value = json.loads((folder / place).read_text()) if (folder / place).exists() else {}
    (folder / place).write_text(json.dumps({**value, "chat_template": template}))


def _link(folder: Path, canary: Path, drawn: random.Random) -> None:
    """A file that is a link: to a copy elsewhere, to itself, to a folder, to nothing, to a device."""
    path = folder / drawn.choice([*sorted(set(_CONFIGS)), _WEIGHTS, "chat_template.jinja", "vocab.json", "extra.json"])
    elsewhere = canary.parent / f"elsewhere-{path.name}"
    shutil.copy(path, elsewhere) if path.exists() else elsewhere.write_text("{}")
    path.unlink(missing_ok=True)
    path.symlink_to(
        drawn.choice([elsewhere, elsewhere, path, folder, Path("/nothing"), Path("/dev/zero"), Path("/dev/null")])
    )


def _pipe(folder: Path, _: Path, drawn: random.Random) -> None:
    path = folder / drawn.choice([*sorted(set(_CONFIGS)), _WEIGHTS, "chat_template.jinja", "vocab.json", "extra.json"])
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def _gone(folder: Path, _: Path, drawn: random.Random) -> None:
    drawn.choice(sorted(path for path in folder.iterdir() if path.is_file())).unlink()


def _folder_instead(folder: Path, _: Path, drawn: random.Random) -> None:
    path = drawn.choice(sorted(path for path in folder.iterdir() if path.is_file()))
    path.unlink()
    path.mkdir()


def _more_files(folder: Path, _: Path, drawn: random.Random) -> None:
    """Files that libraries read where they are there."""
    names = ["vocab.json", "merges.txt", "added_tokens.json", "special_tokens_map.json", "tokenizer.model", "vocab.txt"]
    names += [
        "adapter_config.json",
        "tekken.json",
        "video_preprocessor_config.json",
        "additional_chat_templates/x.jinja",
    ]
    name = drawn.choice(names)
    (folder / name).parent.mkdir(exist_ok=True)
    texts = [
        "",
        "{}",
        "[]",
        "{{ 1 }}",
        '{"<x>": 99999999}',
        '{"peft_type": "LORA"}',
        '{"eos_token": {"content": "\\ud800"}}',
        "\0",
    ]
    (folder / name).write_text(drawn.choice(texts))


_CHANGES: list[Callable[[Path, Path, random.Random], None]] = [
    *[_value] * 7,
    *[_safetensors_head] * 4,
    *[_template] * 4,
    *[_key, _code, _pickle] * 3,
    *[_text, _link, _weights_of_no_number, _safetensors_length, _safetensors_cut, _safetensors_bits] * 2,
    *[_safetensors_json, _weight_map, _large_tokenizer, _tokenizer_pattern, _pipe, _gone, _folder_instead, _more_files],
]


def contents(folder: Path) -> dict[str, bytes | None]:
    """What a reader would find under each name; None where that is not a file."""
    return {path.name: path.read_bytes() if path.is_file() else None for path in folder.iterdir() if not path.is_dir()}


def outcome(folder: Path, canary: Path, good: dict[str, str], ask: Callable[[], Any], touched: list[str]) -> str:
    """What became of a checkpoint: loaded, refused in a sentence with its path, or a mistake of ours."""
    from pytest_audiobench.errors import AudiobenchError
    from pytest_audiobench.models.hf.model import HfModel
    from pytest_audiobench.models.messages import Response

    touched.clear()
    result = "loaded"
    before = contents(GOOD)
    after = contents(folder)
    model = None
    try:
        model = HfModel(str(folder), {"device": "cpu"})
        fingerprint = dict(model.fingerprint())
        if fingerprint == good and {name: after.get(name) for name in before} != before:
            return "silent: it has the fingerprint of the one that it was"
        model.load()
        try:
            (response,) = model.ask([ask()])
        except AudiobenchError:
            raise
        except Exception as error:  # a run records it as the failure of that answer
            response = Response(error=" ".join(str(error).split()) or type(error).__name__)
        if response.error is not None and (not response.error.strip() or "\n" in response.error):
            result = f"raw: no sentence: {response.error[:300]!r}"
    except AudiobenchError as error:
        is_sentence = str(folder) in str(error) and "\n" not in str(error).strip() and "Traceback" not in str(error)
        result = "refused" if is_sentence else f"raw: no sentence with its path: {str(error)[:400]!r}"
    except BaseException as error:
        result = f"raw: {type(error).__name__}: {str(error)[:300]}"
    finally:
        if model is not None:
            with contextlib.suppress(Exception):
                model.close()
    if canary.exists():
        canary.rmdir()
        return f"ran: its code ran, {result}"
    return f"ran: {touched[0]}, {result}" if touched else result


def main(folder: str, first: str, last: str) -> None:
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    os.environ["HF_HOME"] = str(Path(folder, "hub"))
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        os.environ.pop(name, None)
    import numpy as np

    from pytest_audiobench.audio.clip import PlayedAudio
    from pytest_audiobench.models.hf.model import HfModel
    from pytest_audiobench.models.messages import Ask, AudioSlot, Message, Request, Settings

    warnings.simplefilter("ignore")
    sound = PlayedAudio(np.full(8000, 0.25, np.float32), 16_000, "sound", 16_000, 8000, "none")
    turn = Message("user", (AudioSlot(0), "Which number is heard in the recording, and in which language is it?"))

    def ask() -> Ask:
        settings = Settings(max_new_tokens=2)
        return Ask(Request("0" * 64, "hostile", "s", "answer", "open", (turn,), (), settings=settings), (sound,))

    whole = HfModel(str(GOOD), {"device": "cpu"})
    good = dict(whole.fingerprint())
    whole.load()
    assert whole.ask([ask()])[0].error is None
    whole.close()
    touched: list[str] = []

    def watch(event: str, arguments: Any) -> None:
        if event in ("socket.connect", "socket.getaddrinfo") and touched is not None:
            touched.append(f"{event} {arguments[1:] if event == 'socket.connect' else arguments[0]}")
        elif event in ("os.system", "subprocess.Popen", "pickle.find_class"):
            touched.append(f"{event} {arguments[:2]}")

    sys.addaudithook(watch)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MOST_BYTES, -1))
    with Path(folder, "outcomes.jsonl").open("w", buffering=1) as file:
        for seed in range(int(first), int(last)):
            faulthandler.dump_traceback_later(HANG_S, exit=True)
            print(json.dumps({"seed": seed}), file=file)
            around = Path(folder, f"s{seed}")
            checkpoint = shutil.copytree(GOOD, around / "checkpoint")
            how = hostile(checkpoint, around / "canary", seed)
            started = time.process_time()
            result = outcome(checkpoint, around / "canary", good, ask, touched)
            if (took := time.process_time() - started) > LONGEST_S:
                result = f"slow: {took:.0f} s, {result}"
            shutil.rmtree(around)
            print(json.dumps({"seed": seed, "how": how, "outcome": result}), file=file)
        faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main(*sys.argv[1:])
