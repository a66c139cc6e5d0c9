"""Launchers find a key where the package finds it, and refuse a file that others can read."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SERVERS = Path(__file__).parents[2] / "examples" / "servers"
SECRET = "sk-very-secret-0123456789abcdef"
PRINTS = "import key_file; print(key_file.key('OPENAI_API_KEY', 'openai/cfg'))"


@pytest.fixture
def launcher(tmp_path):
    """Writes a key file, and finds the key as a launcher does."""

    def find(text=None, mode=0o600, **environ):
        file = tmp_path / "openai" / "cfg"
        file.parent.mkdir(exist_ok=True)
        if text is not None:
            file.write_text(text)
            file.chmod(mode)
        known = {"PATH": os.environ["PATH"], "XDG_CONFIG_HOME": str(tmp_path), **environ}
        return subprocess.run([sys.executable, "-c", PRINTS], cwd=SERVERS, env=known, capture_output=True, text=True)

    return find


@pytest.mark.parametrize(
    "text", [SECRET, f"{SECRET}\n", f"OPENAI_API_KEY={SECRET}\n", f"# mine\nexport X_KEY='{SECRET}'\n"]
)
@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_file_holds_the_bare_key_or_a_line_that_names_it(launcher, text, mode):
    assert launcher(text, mode).stdout == f"{SECRET}\n"


def test_the_variable_comes_before_the_named_file_before_the_usual_one(launcher, tmp_path):
    named = tmp_path / "named"
    named.write_text("named")
    named.chmod(0o600)
    assert launcher("usual", OPENAI_API_KEY_FILE=str(named)).stdout == "named\n"
    assert launcher("usual", OPENAI_API_KEY_FILE=str(named), OPENAI_API_KEY="given").stdout == "given\n"
    assert launcher().stdout == "usual\n"


def test_without_any_there_is_no_key(launcher):
    assert launcher().stdout == "None\n"


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_file_that_others_can_read_ends_the_launcher_in_one_sentence(launcher, tmp_path, mode):
    result = launcher(SECRET, mode)
    file = tmp_path / "openai" / "cfg"
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == f"the key file {file} is not yours alone; make it so: chmod 600 {file}\n"


@pytest.mark.parametrize("text", ["", f"{SECRET}\n{SECRET}\n", f"{SECRET} {SECRET}"])
def test_a_file_without_one_clear_key_is_not_quoted(launcher, text):
    result = launcher(text)
    assert result.returncode == 1
    assert "holds no single key" in result.stderr
    assert SECRET not in result.stdout + result.stderr
