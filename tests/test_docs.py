"""What the documents say is so: their commands run, their tables agree with the code."""

import re
import shlex
import shutil
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tiercut
from tiercut import errors
from tiercut.cli import app
from tiercut.cli.inputs import read_inputs
from tiercut.documents import check
from tiercut.fleet import sample_fleet
from tiercut.models.profile import SHIPPED, shipped_profile
from tiercut.plan.problem import Problem
from tiercut.plan.solve import SOLVERS, solve
from tiercut.scenario import Event, FleetSection, Scenario
from tiercut.seeds import Seeds

ROOT = Path(__file__).parent.parent
GUIDE = (ROOT / "docs" / "guide.md").read_text()
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
COMMAND_LINE_MISUSE = 2


def fenced(text, language):
    """The insides of all blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def runnable(text):
    """The commands that a page shows: lines in console blocks that start with `$ tiercut`."""
    lines = [line for block in fenced(text, "console") for line in block.splitlines()]
    return [line.removeprefix("$ tiercut ") for line in lines if line.startswith("$ tiercut ")]


def rows(text):
    """The first cells of all table rows."""
    return re.findall(r"^\| ([^|]*) \|", text, flags=re.MULTILINE)


# ------------------------------------------------------------------------------------- commands


def copy_scenarios(folder, **changes):
    """Copy all scenarios; the demo's has few examples, and other changes, to train in a blink."""
    shutil.copytree(ROOT / "scenarios", folder / "scenarios")
    demo = folder / "scenarios" / "demo.toml"
    text = demo.read_text()
    for key, value in {"examples": 16, **changes}.items():
        text, found = re.subn(rf"^{key} = \d+", f"{key} = {value}", text, flags=re.MULTILINE)
        assert found == 1
    demo.write_text(text)


@pytest.mark.parametrize("page", ["README.md", "docs/guide.md"])
def test_every_command_runs(page, tmp_path, monkeypatch):
    copy_scenarios(tmp_path)
    shutil.copy(ROOT / "examples" / "own_model.py", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "own_model", raising=False)
    commands = runnable((ROOT / page).read_text())
    assert len(commands) >= 5
    for command in commands:
        result = CliRunner().invoke(app, shlex.split(command))
        assert result.exit_code == 0, f"tiercut {command}: {result.output} {result.exception}"
    sys.modules.pop("own_model", None)


def test_the_readme_shows_every_verb():
    text = (ROOT / "README.md").read_text()
    verbs = {command.name for command in app.registered_commands}
    assert {verb for verb in verbs if f"tiercut {verb}" not in text} == set()


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


# ----------------------------------------------------------------------------- codes and versions


def test_the_exit_codes_are_those_of_the_code():
    classes = [
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, errors.TiercutError)
    ]
    own = {0, COMMAND_LINE_MISUSE, errors.BUG_EXIT_CODE, errors.INTERRUPTED_EXIT_CODE}
    page = (ROOT / "docs" / "exit-codes.md").read_text()
    listed = [int(cell) for cell in rows(page) if cell.isdigit()]
    assert sorted(listed) == sorted(own | {error.exit_code for error in classes})
    assert all(f"`{error.__name__}`" in page for error in classes)


def test_the_changelog_has_this_version():
    assert f"\n## [{tiercut.__version__}] - " in (ROOT / "CHANGELOG.md").read_text()


def test_every_solver_is_explained():
    listed = " ".join(rows((ROOT / "docs" / "algorithms.md").read_text()))
    explained = set(re.findall(r"`([a-z-]+)`", listed)) | {"exact"}
    assert set(SOLVERS) <= explained


# -------------------------------------------------------------------------------- the scenario


def documented_scenario():
    (block,) = fenced(GUIDE, "toml")
    return block


def test_the_scenario_keys_are_those_of_the_sections():
    uncommented = re.sub(r"^# (\w+ = |\[\[)", r"\1", documented_scenario(), flags=re.MULTILINE)
    shown = tomllib.loads(uncommented)
    assert set(shown) == set(Scenario.model_fields)
    (event,) = shown["events"]
    assert set(event) | {"clients"} == set(Event.model_fields)
    for name, field in Scenario.model_fields.items():
        if name in ("name", "seed", "events"):
            continue
        assert set(shown[name]) == set(field.annotation.model_fields), name
    check(Scenario, shown, "the guide")


def test_the_scenario_shows_the_defaults():
    shown = tomllib.loads(documented_scenario())
    least = {"name": shown["name"], "model": {"name": shown["model"]["name"]}}
    assert check(Scenario, shown, "the guide") == check(Scenario, least, "the least")


def test_the_shipped_models_are_named():
    assert f"{', '.join(SHIPPED)}, or package.module:factory" in GUIDE


# ----------------------------------------------------------------------------------- the files


def documented_fields(kind):
    """The fields in the table that follows the mark of a file format."""
    table = GUIDE.split(f"<!-- fields: {kind} -->")[1].split("\n\n")[1]
    return [cell.strip("`") for cell in rows(table) if cell.startswith("`")]


def fields(value, at=""):
    """The names of all fields in a JSON object, as the guide writes them."""
    if isinstance(value, dict):
        for key, inside in value.items():
            yield from fields(inside, f"{at}.{key}" if at else key)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for inside in value:
            yield from fields(inside, f"{at}[]")
    else:
        yield at


def test_the_fleet_fields_are_those_of_the_file():
    made = set()
    for links in ("between", "access"):
        made |= set(fields(sample_fleet(FleetSection(clients=3, links=links), Seeds(0)).to_dict()))
    assert set(documented_fields("fleet")) == made | {"clients[].layer_throughput"}


def test_the_profile_fields_are_those_of_the_file():
    assert set(documented_fields("profile")) == set(fields(shipped_profile("small").to_dict()))


def test_the_plan_fields_are_those_of_the_file():
    inputs = read_inputs(ROOT / "scenarios" / "demo.toml", None, None)
    made = {"clients"}
    for solver in ("paper", "dtfl"):
        plan = solve(Problem(inputs.fleet, inputs.work, (3, 4, 5), inputs.cost), solver)
        made |= set(fields(plan.to_dict()))
    assert set(documented_fields("plan")) == made
