"""The dummy server: it answers with the digest and the length of the clips that it was sent.

python serve.py --port 8000
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from template_server import Dummy, main

if __name__ == "__main__":
    main(Dummy)
