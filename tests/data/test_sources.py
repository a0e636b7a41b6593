"""Names and folders: which folder counts, and what is said when a set is nowhere."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.data.instances import write_mnist
from tiercut.data import load, remembering
from tiercut.data.sources import BUILT_IN, STORED, data_folder
from tiercut.errors import InputError, MissingError
from tiercut.scenario import DataSection


def test_the_folder_given_wins_over_the_scenario_and_the_environment(monkeypatch):
    given, section, named = Path("given"), Path("section"), Path("named")
    assert data_folder() == Path("data")
    monkeypatch.setenv("TIERCUT_DATA", "named")
    assert data_folder() == named
    assert data_folder(None, section) == section
    assert data_folder(given, section) == given


@pytest.mark.parametrize("way", ["argument", "section", "environment", "here"])
def test_a_set_is_found_in_its_folder(tmp_path, monkeypatch, way):
    folder = tmp_path / ("data" if way == "here" else "elsewhere")
    write_mnist(folder / "mnist")
    if way == "environment":
        monkeypatch.setenv("TIERCUT_DATA", str(folder))
    section = DataSection(name="mnist", dir=folder if way == "section" else None)
    assert load(section, folder if way == "argument" else None).name == "mnist"


@pytest.mark.parametrize("name", STORED)
def test_a_set_that_is_nowhere_says_how_to_get_it(tmp_path, name):
    with pytest.raises(MissingError) as missing:
        load(DataSection(name=name), tmp_path)
    for remedy in (f"`tiercut data get {name}`", "--data-dir", "TIERCUT_DATA", str(tmp_path)):
        assert remedy in str(missing.value)


def test_a_name_that_nobody_knows_is_refused(tmp_path):
    with pytest.raises(InputError, match="did you mean 'cifar10'") as refused:
        load(DataSection(name="cifar-10"), tmp_path)
    assert all(name in str(refused.value) for name in (*BUILT_IN, *STORED))


def test_a_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "data.csv").touch()
    with pytest.raises(InputError, match=r"data\.csv: this is no data set"):
        load(DataSection(name=str(tmp_path / "data.csv")))


def test_reading_and_dealing_leave_torch_out():
    script = "import sys, tiercut.data, tiercut.data.download; print('torch' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


def test_what_was_read_last_is_at_hand():
    read = remembering()
    small, large = (DataSection(name=f"synthetic:1x4x4:2:{count}") for count in (10, 20))
    first = read(small, None)
    assert read(small.model_copy(), None) is first
    assert len(read(large, None).train.labels) == 20
    assert read(small, None) is not first  # one at a time
