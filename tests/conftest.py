"""What the tests share."""

from hypothesis import settings

pytest_plugins = ["pytester"]

# First imports and busy machines take longer than 200 ms; the tests time nothing.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
