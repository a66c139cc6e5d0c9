"""``python -m pytest_audiobench.cli``."""

from pytest_audiobench.cli import main

raise SystemExit(main())
