"""A requirement that is legitimate but unusual is told, and holds all the same."""


def test_a_requirement_in_the_lenient_direction_is_noted(tones):
    (tones.path / "audiobench.toml").write_text('[[threshold]]\neval = "tones"\nrequire = ["accuracy <= 1.0"]\n')
    result = tones.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["note: *audiobench.toml*number 1: accuracy <= 1.0 asks for a poor result*"])
    assert any("asks for a poor result" in note for note in tones.last()[0]["notes"])
