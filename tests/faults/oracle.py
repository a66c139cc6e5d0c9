"""What the exit code of a drawn run must be, worked out from its plan alone: nothing here imports the package."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from .drawn_plan import Call, Eval, Plan

_PREVENTS = ("skips protocol", "skips function", "skips body", "raises in setup", "skips in setup")
_LEAVES_OUT = ("word", "deselect", "lf")
_OUTSIDE_OF_TESTS = ("raises in sessionfinish", "raises in collection", "raises in update_run", "raises in logreport")


def reasons(plan: Plan) -> list[str]:
    """Why the run must not end in 0; none where it may."""
    return list(dict.fromkeys(_reasons(plan)))


def is_sure_of_green(plan: Plan) -> bool:
    """Whether a run without such a reason must end in 0: nothing in it may fail by a rule that is not told here."""
    unsure = (
        plan.damage[0],
        plan.limit,
        plan.hook,
        plan.error,
        plan.dies[0],
        "-W error" in plan.habits,
        "--ab-inconclusive=fail" in plan.habits,
        plan.choice[0] in ("lf", "node", "path"),
        plan.max_errors,
        plan.baseline,
        plan.rules not in ("", "*"),
        any(each.ending not in ("", "skip") for each in plan.evals),
        any(call.data == "absent" for each in plan.evals for call in each.calls),
    )
    return not any(unsure)


def _reasons(plan: Plan) -> Iterator[str]:
    chosen = plan.chosen()
    if plan.server_gone:
        yield "the server is gone"
    if plan.hook in _OUTSIDE_OF_TESTS and chosen:
        yield f"a hook {plan.hook}"
    measured: set[str] = set()
    for each in chosen:
        if plan.hook in ("removes item", "removes item late", "deselects") and each.word == plan.target:
            continue
        for case in range(each.cases):
            results, excuses = _case(plan, each, case)
            measured |= results
            yield from excuses
    if not measured:
        yield "nothing was measured"
    if plan.choice[0] in ("path", "node") and not any(each.mark == "xfail" for each in chosen):
        keys = {each.key(case, call) for each in chosen for case in range(each.cases) for call in each.calls}
        if not keys & measured:
            yield "nothing of the path was measured"
    if plan.baseline:
        yield from _of_the_baseline(plan, measured)


def _case(plan: Plan, each: Eval, case: int) -> tuple[set[str], list[str]]:
    """What one case of a test measures, and why it must fail."""
    measured: set[str] = set()
    excuses: list[str] = []
    is_target = each.word == plan.target
    excused = each.mark == "xfail" or each.ending == "xfail"
    where = f"{each.word}[{case}]"
    thresholds = [call for call in each.calls if each.requires or _is_ruled(plan, each)]
    prevented = is_target and plan.hook in (
        "skips protocol",
        "skips function",
        "skips body",
        "raises in setup",
        "skips in setup",
    )
    if plan.hook == "skips function" and each.form != "function":
        prevented = False
    if each.mark == "skip" or prevented:
        if is_target and plan.hook == "skips protocol":
            excuses.append(f"{where} was never run")
        elif prevented and plan.hook != "skips in setup" and each.mark != "skip" and not excused:
            excuses.append(f"{where}: a hook {plan.hook}")
        elif _is_ruled(plan, each) and not excused:
            excuses.append(f"a threshold of {where} is not checked")
        return measured, excuses
    if is_target and plan.hook in ("raises in teardown", "raises in makereport") and not excused:
        excuses.append(f"{where}: a hook {plan.hook}")
    for call in each.calls:
        key = each.key(case, call)
        outcome = _outcome(plan, key, call)
        if outcome == "measured":
            measured.add(key)
            if key in plan.deaf and call in thresholds and not excused:
                excuses.append(f"{key} is deaf and has a threshold")
        elif outcome == "failed":
            # A failure that a hook calls a skip, of an eval that measured nothing, is named as that skip.
            if not excused and (plan.hook != "reports skipped" or measured or call in thresholds):
                excuses.append(f"{key} could not be measured")
        elif outcome == "absent" and call in thresholds and not excused and (measured or _is_ruled(plan, each)):
            excuses.append(f"{key} has a threshold and no data")
        elif outcome == "unsure":
            measured.add(key)
        if outcome not in ("measured", "unsure") and not call.swallowed_by:
            if outcome == "absent" and _is_ruled(plan, each) and not excused:
                excuses.append(f"the thresholds of {where} are not all checked")
            return measured, excuses
    if each.ending in ("assert", "fail") and not excused:
        excuses.append(f"{where} fails by itself")
    stops = each.ending in ("KeyboardInterrupt", "pytest.exit") or (each.ending == "SystemExit" and not excused)
    if stops and plan.hook != "swallows calls":
        excuses.append(f"{where} ends by {each.ending}")
    return measured, excuses


def _outcome(plan: Plan, key: str, call: Call) -> str:
    damage, target = plan.damage
    if call.data == "absent":
        return "absent"
    if plan.server_gone:
        return "failed"
    if target == key and damage == "manifest gone":
        return "failed"
    known = plan.baseline and plan.same_store
    if target == key and damage in ("audio gone", "audio cut"):
        return "unsure" if plan.limit or plan.max_errors or known else "failed"
    if key == plan.error and not plan.limit and not known:
        return "failed"
    if key == plan.dies[0] and not plan.limit and not known:
        return "failed"
    if key in (plan.error, plan.dies[0]):
        return "unsure"
    return "measured"


def _is_ruled(plan: Plan, each: Eval) -> bool:
    if each.form == "declared":
        return each.requires or plan.rules == "*"
    return bool(plan.rules) and fnmatchcase(f"f{each.file}/{each.word}", plan.rules)


def _of_the_baseline(plan: Plan, measured: set[str]) -> Iterator[str]:
    """What the baseline's run measured, undisturbed, and this one has not, or worse."""
    excused = {each.word for each in plan.evals if each.mark == "xfail" or each.ending == "xfail"}
    chosen = {each.word for each in plan.chosen()}
    for each in plan.before:
        if each.mark or each.ending == "xfail" or each.word in excused:
            continue
        if each.word not in chosen and plan.choice[0] in _LEAVES_OUT:
            continue
        for case in range(each.cases):
            for call in each.calls:
                key = each.key(case, call)
                if call.data == "absent":
                    if not call.swallowed_by:
                        break
                elif key not in measured:
                    # A hook that deselects says so to pytest, as -k does; a fault that is unsure is judged elsewhere.
                    unsure = key in (plan.error, plan.dies[0], plan.damage[1])
                    if not unsure and not (plan.hook == "deselects" and each.word == plan.target):
                        yield f"{key} of the baseline was not measured"
                elif key in plan.deaf and not plan.limit:
                    yield f"{key} of the baseline is deaf"
