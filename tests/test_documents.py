"""Files: nothing is lost in writing, and every message names the file and the key."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import Field

from tiercut.documents import (
    MOST_PROBLEMS_SHOWN,
    Document,
    check,
    check_version,
    read_json,
    read_toml,
    show_key,
    show_value,
    to_json,
    write_text,
)
from tiercut.errors import InputError

relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


class Wheel(Document):
    size: float = Field(gt=0)
    spokes: tuple[int, ...] = Field(default=(), strict=False)


class Car(Document):
    name: str = Field(min_length=1)
    wheels: tuple[Wheel, ...] = Field(default=(), strict=False, max_length=4)
    spare: Wheel | None = None


def message(function, *arguments):
    with pytest.raises(InputError) as refused:
        function(*arguments)
    return str(refused.value)


def refusal(data):
    return message(check, Car, data, "car.json")


# ---------------------------------------------------------------- writing


@given(json_values)
@relaxed
def test_what_is_written_as_json_reads_back_equal(tmp_path, value):
    path = tmp_path / "value.json"
    write_text(path, to_json([value]))
    assert read_json(path) == [value]


@given(st.text(st.characters(exclude_categories=["Cs"])).map(lambda text: text.replace("\r", "")))
@relaxed
def test_text_is_written_whole_and_as_utf8(tmp_path, text):
    path = tmp_path / "text"
    write_text(path, text)
    assert path.read_bytes() == text.encode()


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_json_does_not_have_are_never_written(number):
    with pytest.raises(ValueError, match="JSON"):
        to_json({"seconds": number})


def test_writing_makes_the_folders_on_the_way(tmp_path):
    path = tmp_path / "a" / "b" / "plan.json"
    write_text(path, "{}\n")
    assert path.read_text() == "{}\n"


def test_writing_replaces_the_old_file_and_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "plan.json"
    for text in ("a long old text\n", "new\n"):
        write_text(path, text)
    assert path.read_text() == "new\n"
    assert list(tmp_path.iterdir()) == [path]


def test_everybody_may_read_what_is_written(tmp_path):
    write_text(tmp_path / "plan.json", "{}")
    assert (tmp_path / "plan.json").stat().st_mode & 0o777 == 0o644


def test_the_old_file_survives_text_that_cannot_be_encoded(tmp_path):
    path = tmp_path / "plan.json"
    write_text(path, "old\n")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "half of the new text \ud800")
    assert path.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [path]


LIMITED_WRITER = """
import resource, sys
from pathlib import Path
from tiercut.documents import write_text
from tiercut.errors import InputError
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_text(Path(sys.argv[1]), "new" * 1000)
except InputError as problem:
    print(problem)
"""


def test_the_old_file_survives_when_the_new_one_finds_no_room(tmp_path):
    path = tmp_path / "plan.json"
    write_text(path, "old\n")
    command = [sys.executable, "-c", LIMITED_WRITER, str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout == f"{path}: cannot be written: File too large\n"
    assert path.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs Linux's /dev/full")
def test_a_full_device_is_reported_and_stays_a_device(tmp_path):
    link = tmp_path / "full.json"
    link.symlink_to("/dev/full")
    assert message(write_text, link, "{}") == f"{link}: cannot be written: No space left on device"
    assert link.is_symlink()
    assert Path("/dev/full").is_char_device()


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "through the pipe\n")
    reader.join()
    assert got == ["through the pipe\n"]
    assert pipe.is_fifo()


def test_writing_through_a_link_changes_the_file_and_keeps_the_link(tmp_path):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    write_text(target, "old\n")
    link.symlink_to(target)
    write_text(link, "new\n")
    assert link.is_symlink()
    assert target.read_text() == "new\n"


def test_a_folder_is_not_overwritten(tmp_path):
    (tmp_path / "plan.json").mkdir()
    found = message(write_text, tmp_path / "plan.json", "{}")
    assert found == f"{tmp_path / 'plan.json'}: cannot be written: Is a directory"


def test_a_parent_that_is_a_file_is_reported_with_the_path(tmp_path):
    (tmp_path / "file").write_text("x")
    path = tmp_path / "file" / "plan.json"
    assert message(write_text, path, "{}").startswith(f"{path}: cannot be written: ")
    assert (tmp_path / "file").read_text() == "x"


# ---------------------------------------------------------------- reading


@pytest.mark.parametrize("read", [read_json, read_toml])
class TestBothKindsOfFile:
    def test_a_missing_file_is_named_with_the_nearest_in_the_folder(self, read, tmp_path):
        (tmp_path / "fleet.json").write_text("{}")
        path = tmp_path / "flet.json"
        expected = f"{path}: there is no such file (did you mean 'fleet.json'?)"
        assert message(read, path) == expected

    def test_a_missing_folder_is_no_worse(self, read, tmp_path):
        path = tmp_path / "nowhere" / "fleet.json"
        assert message(read, path) == f"{path}: there is no such file"

    def test_a_folder_is_no_file(self, read, tmp_path):
        assert message(read, tmp_path) == f"{tmp_path}: cannot be read: Is a directory"

    def test_a_path_through_a_file_cannot_be_read(self, read, tmp_path):
        (tmp_path / "file").write_text("x")
        path = tmp_path / "file" / "fleet.json"
        assert message(read, path) == f"{path}: cannot be read: Not a directory"

    def test_a_path_that_no_file_can_have_is_refused(self, read):
        assert message(read, Path("a\0b")).startswith("'a\\x00b': cannot be read: ")

    @pytest.mark.parametrize("content", [b"", b" \n\t\n"])
    def test_an_empty_file_is_called_empty(self, read, tmp_path, content):
        path = tmp_path / "empty"
        path.write_bytes(content)
        assert message(read, path) == f"{path}: the file is empty"

    @pytest.mark.parametrize(
        "content",
        [b"{", b"nonsense", b"\xff\xfe\xfd", b"a = [1", b"[" * 100_000, b"a = " + b"9" * 5000],
    )
    def test_what_is_not_of_the_kind_is_refused_by_name(self, read, tmp_path, content):
        path = tmp_path / "file"
        path.write_bytes(content)
        assert message(read, path).startswith(f"{path}: this is not ")


def test_a_number_with_thousands_of_digits_is_refused(tmp_path):
    path = tmp_path / "file.json"
    path.write_text("9" * 5000)
    assert message(read_json, path).startswith(f"{path}: this is not JSON: ")


def test_toml_reads_as_a_table(tmp_path):
    path = tmp_path / "file.toml"
    path.write_text('a = 1\n[b]\nc = "ü"\n', encoding="utf-8")
    assert read_toml(path) == {"a": 1, "b": {"c": "ü"}}


# ---------------------------------------------------------------- checking


def test_a_good_value_passes_and_lists_become_tuples():
    car = check(Car, {"name": "a", "wheels": [{"size": 1, "spokes": [2, 3]}]}, "car.json")
    assert car.wheels[0].spokes == (2, 3)
    assert car == check(Car, json.loads(json.dumps(car.model_dump())), "car.json")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({}, "name is missing"),
        ({"name": 3}, "name is 3; expected a valid string"),
        ({"name": ""}, 'name is ""; expected at least 1 character'),
        ({"name": "a", "wheels": 3}, "wheels is 3; expected a list"),
        ({"name": "a", "wheels": [3]}, "wheels[0] is 3; expected a table of keys"),
        ({"name": "a", "wheels": [{}]}, "wheels[0].size is missing"),
        (
            {"name": "a", "wheels": [{"size": -1}]},
            "wheels[0].size is -1; expected greater than 0",
        ),
        (
            {"name": "a", "wheels": [{"size": 1, "sizze": 1}]},
            "unknown key wheels[0].sizze (did you mean 'size'?); expected size or spokes",
        ),
        (
            {"name": "a", "spare": {"size": 1, "spoke": 1}},
            "unknown key spare.spoke (did you mean 'spokes'?); expected size or spokes",
        ),
        (
            {"name": "a", "colour": 1},
            "unknown key colour; expected name, wheels or spare",
        ),
        (
            {"name": "a", "wheels": [{"size": 1, "spokes": [1, 2.5]}]},
            "wheels[0].spokes[1] is 2.5; expected a valid integer",
        ),
        (
            {"name": "a", "wheels": [{"size": float("nan")}]},
            "wheels[0].size is NaN; expected a finite number",
        ),
        (
            {"name": "a", "wheels": [{"size": True}]},
            "wheels[0].size is true; expected a valid number",
        ),
        (3, "the file is 3; expected a table of keys"),
        ([], "the file is []; expected a table of keys"),
    ],
)
def test_a_wrong_value_is_named_by_file_key_found_and_expected(data, expected):
    assert refusal(data) == f"car.json: {expected}"


def test_too_long_a_list_says_how_long_it_may_be():
    found = refusal({"name": "a", "wheels": [{"size": 1}] * 5})
    assert found.startswith("car.json: wheels is [")
    assert found.endswith("; expected at most 4 items, not 5")


def test_every_problem_gets_its_own_line_up_to_a_limit():
    wheels = [{"size": -1}, {"sise": 1}, {"size": 1, "spokes": list("abcd")}]
    lines = refusal({"name": "", "wheels": wheels}).splitlines()
    assert len(lines) == MOST_PROBLEMS_SHOWN + 1
    assert all(line.startswith("car.json: ") for line in lines)
    assert lines[-1] == "car.json: and 3 more problems like these"


@pytest.mark.parametrize(("problems", "shown"), [(4, 4), (5, 5), (6, 6)])
def test_no_line_is_spent_on_saying_that_nothing_more_is_wrong(problems, shown):
    lines = refusal({"name": "a", "wheels": [{"size": 1, "spokes": ["x"] * problems}]}).splitlines()
    assert len(lines) == shown
    assert lines[-1].endswith("like these") == (problems > MOST_PROBLEMS_SHOWN)


def test_a_list_too_short_only_because_of_a_wrong_item_is_not_reported_twice():
    class Pair(Document):
        both: tuple[int, ...] = Field(min_length=2, strict=False)

    assert message(check, Pair, {"both": [1, "x"]}, "f") == (
        'f: both[1] is "x"; expected a valid integer'
    )
    assert message(check, Pair, {"both": [1]}, "f") == (
        "f: both is [1]; expected at least 2 items, not 1"
    )


def test_a_checked_value_cannot_be_changed():
    car = check(Car, {"name": "a"}, "car.json")
    with pytest.raises(ValueError, match="frozen"):
        car.name = "b"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ([], "f.json: a fleet is a JSON object; found []"),
        (None, "f.json: a fleet is a JSON object; found null"),
        ("x", 'f.json: a fleet is a JSON object; found "x"'),
        ({}, "f.json: version is null; this tiercut reads version 1 of a fleet"),
        ({"version": 2}, "f.json: version is 2; this tiercut reads version 1 of a fleet"),
        ({"version": "1"}, 'f.json: version is "1"; this tiercut reads version 1 of a fleet'),
        ({"version": True}, "f.json: version is true; this tiercut reads version 1 of a fleet"),
    ],
)
def test_a_file_of_another_version_or_shape_is_refused(data, expected):
    assert message(check_version, data, "f.json", "fleet") == expected


def test_the_right_version_is_accepted():
    check_version({"version": 1}, "f.json", "fleet")


def test_a_keys_path_is_written_as_people_write_it():
    assert show_key(("clients", 3, "throughput")) == "clients[3].throughput"
    assert show_key(("links", "between", 0, 1)) == "links.between[0][1]"
    assert show_key(()) == ""


def test_a_long_value_is_cut_short():
    assert show_value("x" * 58) == '"' + "x" * 58 + '"'
    assert show_value("x" * 100) == '"' + "x" * 56 + "..."
    assert show_value([1, None, True]) == "[1, null, true]"
    assert show_value(16**5000) == "a number too long to show"
    assert show_value(Path("a")) == json.dumps(repr(Path("a")))
