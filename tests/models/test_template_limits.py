"""A checkpoint's chat template is rendered within limits, whatever program it is."""

import json
import shutil
import sys
import threading
from pathlib import Path

import pytest

pytest.importorskip("transformers")

from transformers.utils.chat_template_utils import render_jinja_template

from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.hf import template_limits
from pytest_audiobench.models.hf.model import HfModel
from pytest_audiobench.models.hf.template_limits import TemplateTooCostly, limited_rendering

GOOD = Path(__file__).parents[2] / "fixtures" / "checkpoints" / "good"
ENDLESS = "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}"
TEXT = "{% set s = 'x' * 1000000 %}"
DOUBLED = "{% set ns = namespace(s='x' * 1000000) %}{% for i in range(60) %}{% set ns.s = ns.s OP ns.s %}{% endfor %}"

LASTING = {
    "loops": ENDLESS,
    "macros that call themselves": (
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}"
    ),
    "filters on long lists": "{% for i in range(99999) %}{{ range(99999)|list|sort|length }}{% endfor %}",
    "long output": TEXT + "{% for i in range(99999) %}{{ s }}{% endfor %}",
}

LARGE = {
    "a repeated text": "{{ 'x' * 10000000000 }}",
    "a repeated list": "{{ ([0] * 10000000000)|length }}",
    "a power": "{{ 10 ** 10 ** 10 }}",
    "squares": (
        "{% set ns = namespace(x=3) %}{% for i in range(100) %}{% set ns.x = ns.x * ns.x %}{% endfor %}{{ ns.x > 1 }}"
    ),
    "a width by %": "{{ '%10000000000d' % 1 }}",
    "a width beside %": "{{ '%*d' % (10000000000, 1) }}",
    "a width of format": "{{ '{:10000000000}'.format(1) }}",
    "a width among arguments": "{{ '{:{}}'.format(1, 10000000000) }}",
    "a width as a text": "{{ '{:{}}'.format(1, '10000000000') }}",
    "a width of the filter": "{{ '%10000000000d'|format(1) }}",
    "a width of a date": "{{ strftime_now('%9999999999Y') }}",
    "a margin": "{{ 'x'.center(10000000000) }}",
    "a margin of constants": "{{ 'x'|center(width=10000000000) }}",
    "a margin in a map": "{{ ['x']|map('center', 10000000000)|list }}",
    "a method by name": "{{ ('x'|attr('zfill'))(10000000000) }}",
    "an indent": "{{ ('x\\n' * 100000)|indent(100000) }}",
    "an indent of JSON": "{{ {'a': range(99999)|list}|tojson(indent=100000) }}",
    "a replacement": TEXT + "{{ s.replace('x', s) }}",
    "a replacement by filter": TEXT + "{{ s|replace('x', s) }}",
    "a join": TEXT + "{{ s.join(range(99999)|map('string')|list) }}",
    "a join of what is not counted": TEXT + "{{ range(99999)|map('string')|join(s) }}",
    "rows": "{{ [1]|batch(10000000000, 'x')|list }}",
    "columns": "{{ [1]|slice(10000000000)|list }}",
    "a rounding": "{{ 1|round(-99999999) }}",
    "words": "{{ lipsum(n=10000000) }}",
    "bytes": "{{ (1).to_bytes(9999999999, 'big') }}",
    "a doubled text": DOUBLED.replace("OP", "~"),
    "a doubled sum": DOUBLED.replace("OP", "+"),
    "many texts at once": "{% set s = 'x' * 100000000 %}{{ [" + "s[1:], " * 100 + "]|length }}",
    "one of many texts": "{% set s = 'x' * 100000000 %}{{ s " + "~ s " * 50 + "}}",
}


def rendered(template, **limits):
    with limited_rendering(**limits):
        return render_jinja_template([[{"role": "user", "content": "Which?"}]], chat_template=template)[0][0]


@pytest.mark.parametrize("name", LASTING)
def test_what_would_not_end_is_ended(name):
    with pytest.raises(TemplateTooCostly, match=r"it takes more than 0\.5 s for one prompt"):
        rendered(LASTING[name], longest_s=0.5)


@pytest.mark.parametrize("name", LARGE)
def test_what_would_fill_the_memory_is_refused(name):
    with pytest.raises(TemplateTooCostly, match=r"of any size|MiB of memory"):
        rendered(LARGE[name], longest_s=600.0)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc says what a process holds")
def test_what_the_process_has_held_before_leaves_no_room_to_fill(monkeypatch):
    monkeypatch.setattr(template_limits, "process_peak_bytes", lambda: 1 << 50)
    with pytest.raises(TemplateTooCostly, match="MiB of memory"):
        rendered(LARGE["a doubled sum"], longest_s=600.0)


def test_an_ordinary_template_renders_what_it_always_did():
    template = (
        "{% for m in messages %}{{ '-' * 3 }}{{ '%s: %05.1f' % (m.role, 2 ** 3) }}{{ 'x'.center(5) }}"
        "{{ m.content|replace('W', 'w')|indent(2, first=true) }}{{ loop.index0 % 2 }}{{ [1, 2]|join(', ') }}"
        "{{ {'a': 10000000000}|tojson }}{{ '{:>4}'.format(7 * 6) }}{% endfor %}"
    )
    assert rendered(template) == '---user: 008.0  x    which?01, 2{"a": 10000000000}  42'


def test_a_debuggers_trace_is_there_again_afterwards():
    def trace(frame, event, argument):
        return None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with pytest.raises(TemplateTooCostly):
            rendered("{{ 'x' * 10000000000 }}")
        assert sys.gettrace() is trace
    finally:
        sys.settrace(before)


def test_another_thread_has_limits_of_its_own():
    why = []

    def render():
        try:
            rendered(ENDLESS, longest_s=0.5)
        except TemplateTooCostly as error:
            why.append(str(error))

    thread = threading.Thread(target=render)
    thread.start()
    assert rendered("{{ messages[0].content }}") == "Which?"
    thread.join()
    assert why == ["it takes more than 0.5 s for one prompt"]


@pytest.mark.parametrize("name", ["chat_template.jinja", "chat_template.json"])
def test_a_checkpoint_whose_template_has_no_end_is_refused_with_its_file(tmp_path, name):
    copy = shutil.copytree(GOOD, tmp_path / "copy")
    (copy / "chat_template.jinja").unlink()
    (copy / name).write_text(json.dumps({"chat_template": LARGE["a margin"]}) if name.endswith("json") else ENDLESS)
    with pytest.raises(UsageError) as refused:
        HfModel(str(copy), {"device": "cpu"}).load()
    assert str(refused.value).startswith(f"the chat template in {copy / name} cannot be rendered: ")
    assert "\n" not in str(refused.value)
