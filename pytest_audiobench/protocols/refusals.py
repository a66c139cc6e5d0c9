"""Whether a text declines to answer."""

from __future__ import annotations

import re

# Words in quotation marks are what was heard, not what the model says.
_QUOTED = re.compile(r'"[^"\n]{0,300}"|“[^”\n]{0,300}”')
_REFUSAL = re.compile(
    # Every alternative but the last begins with one of these: looking for that first halves the time.
    r"""(?=[iwacnup])(?: \b(?:i|we)(?:['’]m|['’]re|\sam|\sare)\s(?:\w{1,12}\s){0,2}
          (?:sorry|unable|not\sable|not\ssure|afraid|an?\s(?:ai|text|language|large))\b
      | \b(?:i|we)\s(?:can(?:not|\snot|['’]?t)|could(?:\snot|n['’]?t)|do(?:\snot|n['’]?t)|will\snot|won['’]?t)\s
          (?:\w{1,12}\s){0,2}?(?:hear|listen|access|analy[sz]e|determine|provide|process|tell|identify|have|know|answer|
             assist|help|make|see|give|play|detect|choose|select|classify|recogni[sz]e|comply
             |transcribe|translate|describe)\b
      | \bas\san?\s(?:ai|artificial\sintelligence|large\s\w{1,10}\smodel|language\smodel
          |text(?:\smodel|[\s-](?:based|only)))\b
      | \bi\sapologi[sz]e\b
      | \b(?:impossible|not\spossible|unable)\sto\s(?:\w{1,12}\s){0,2}?
          (?:hear|listen|determine|tell|identify|analy[sz]e|make|answer|accurately|classify|compare|provide|
             transcribe|translate|describe)\b
      | \bno\saudio(?:\s(?:file|clip|recording))?\s(?:was|is|has\sbeen)\s(?:provided|attached|uploaded|given)\b
      | \bcannot\sbe\s(?:\w{1,12}\s)?(?:determined|identified)\b
      | \bplease\s(?:\w{1,12}\s)?(?:provide|upload|share)\b )
      | \A\W{0,5}(?:sorry|apologies|my\sapologies|unfortunately)\b
    """,
    re.I | re.X,
)
_SIGNS = (
    *("sorry", "apolog", "unfortunately", "unable", "not able", "not sure", "afraid", "possible", "please", "no audio"),
    *("i c", "we c", "i do", "we do", "i w", "we w", "cannot be", " ai", "artificial"),
    *(f" {article} {kind}" for article in ("a", "an") for kind in ("text", "language", "large")),
)
"""One of these is in every refusal; most answers hold none, which is much cheaper to see."""


def refuses(text: str) -> bool:
    """Whether ``text`` says, in English and outside quotation marks, that it cannot or will not answer."""
    lowered = " ".join(text.lower().split())
    if not lowered.isascii():
        lowered = lowered.replace("ı", "i").replace("i̇", "i")  # re.I takes either for an i
    for sign in _SIGNS:  # any() with a generator takes twice the time
        if sign in lowered:
            return _REFUSAL.search(_QUOTED.sub(" ", " ".join(text.split()))) is not None
    return False
