"""A run says how fast its model answered, and thresholds may ask for it."""


def test_a_run_tells_the_speed_of_its_model_and_a_cached_run_tells_the_same(tones):
    result = tones.run("-v")
    result.stdout.fnmatch_lines(["speed of one: * samples/s, * real time, padding * %, in the model * %*"])
    first = tones.last()[0]
    again = tones.run()
    assert again.ret == 0
    again.stdout.no_fnmatch_line("speed of *")
    second = tones.last()[0]
    speeds = [{one["name"]: one["value"] for one in run["models"][0]["speed"]} for run in (first, second)]
    assert speeds[0]["samples_per_s"] == speeds[1]["samples_per_s"]
    assert speeds[0]["padding_waste"] == speeds[1]["padding_waste"] > 0
    assert "model_share" in speeds[0]
    assert "model_share" not in speeds[1]  # nothing was asked


def test_a_threshold_on_speed_is_held(tones):
    (tones.path / "audiobench.toml").write_text('[[threshold]]\neval = "*"\nrequire = ["samples_per_s >= 1e9"]\n')
    result = tones.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*samples_per_s >= 1e9*is not >= *"])


def test_a_threshold_on_what_only_asking_can_tell_does_not_pass_unasked(tones):
    assert tones.run().ret == 0
    (tones.path / "audiobench.toml").write_text('[[threshold]]\neval = "*"\nrequire = ["model_share >= 0.0"]\n')
    result = tones.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*there is no model_share*"])
