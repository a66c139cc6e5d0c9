"""The reference of the public names: as the source says, complete, and read as Markdown."""

from tests import reference


def test_the_reference_is_what_the_docstrings_say():
    present = {path.name: path.read_text(encoding="utf-8") for path in reference.FOLDER.glob("*.md")}
    assert present == reference.pages(), "docs/reference is not what the docstrings say: python -m tests.reference"


def test_every_public_name_and_member_is_documented():
    assert reference.undocumented() == []


def test_a_docstring_becomes_markdown():
    text = "Reads ``a`` as\n:class:`b.Sample` says::\n\n    first\n\n- one\n- two"
    assert reference.in_markdown(text) == "Reads `a` as `b.Sample` says:\n\n```python\nfirst\n```\n\n- one\n- two"


def test_a_long_signature_has_an_argument_a_line():
    (node,) = reference.ast.parse(f"def f(a: int, *{'b' * 100}: str, c: int = 1, **d) -> int: ...").body
    assert (
        reference.signature(node, "f")
        == f"f(\n    a: int,\n    *{'b' * 100}: str,\n    c: int = 1,\n    **d,\n) -> int"
    )
