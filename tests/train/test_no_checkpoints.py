"""With checkpoint_every = 0 only the weights at the end are kept."""

from tests.train.instances import lines, setting
from tiercut.train.folder import RunFolder
from tiercut.train.loop import run


def test_a_run_without_checkpoints_is_known_as_finished(tmp_path):
    made = setting(training={"rounds": 2}, engine={"checkpoint_every": 0})
    first = run(made, tmp_path / "run")
    folder = RunFolder(tmp_path / "run")
    assert not folder.checkpoints.exists()
    assert folder.finished_rounds == 2
    before = folder.rounds.read_bytes()
    again = run(made, tmp_path / "run", resume=True)
    assert again.new_rounds == 0
    assert again.accuracy == first.accuracy
    assert folder.rounds.read_bytes() == before


def test_more_rounds_start_over_where_nothing_was_saved(tmp_path):
    run(setting(training={"rounds": 1}, engine={"checkpoint_every": 0}), tmp_path / "run")
    more = setting(training={"rounds": 2}, engine={"checkpoint_every": 0})
    assert run(more, tmp_path / "run", resume=True).new_rounds == 2
    assert [line["round"] for line in lines(tmp_path / "run")] == [1, 2]


def test_a_damaged_model_is_no_finished_run(tmp_path):
    run(setting(training={"rounds": 1}, engine={"checkpoint_every": 0}), tmp_path / "run")
    folder = RunFolder(tmp_path / "run")
    folder.model.write_bytes(folder.model.read_bytes()[:50])
    assert folder.finished_rounds == 0
