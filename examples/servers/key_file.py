"""Keys for launchers: from the environment, else from a file that its owner alone can read. Never printed.

    from key_file import key

    key("OPENAI_API_KEY", "openai/cfg")

is $OPENAI_API_KEY, else what the file holds that $OPENAI_API_KEY_FILE names, else ~/.config/openai/cfg.
It needs Python 3.9 or later and nothing else.
"""

import os
import re
import stat
import sys
from pathlib import Path

_NAMED = re.compile(r"(export\s+)?[A-Za-z]\w*\s*=\s*")
"""What stands before the key in a line such as OPENAI_API_KEY=sk-…"""


def key(variable, config_file, environ=os.environ):
    """The key, or None where there is none. A file that is not the user's alone ends the launcher with one sentence."""
    if environ.get(variable, "").strip():
        return environ[variable].strip()
    home = Path(environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    named = environ.get(variable + "_FILE")
    file = Path(named).expanduser() if named else home / config_file
    if not named and not file.exists():
        return None
    try:
        with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK), encoding="utf-8") as opened:
            status = os.fstat(opened.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_mode & 0o077 or status.st_uid != os.geteuid():
                sys.exit(f"the key file {file} is not yours alone; make it so: chmod 600 {file}")
            lines = [line.strip() for line in opened.read(65_536).splitlines()]
    except (OSError, UnicodeDecodeError):
        sys.exit(f"the key file {file} cannot be read")
    keys = [_NAMED.sub("", line).strip("'\"") for line in lines if line and line[0] not in "#;["]
    if len(keys) != 1 or not keys[0] or not all("!" <= sign <= "~" for sign in keys[0]):
        sys.exit(f"the key file {file} holds no single key; write the bare key, or one line {variable}=…")
    return keys[0]
