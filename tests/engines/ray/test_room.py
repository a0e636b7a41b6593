"""How a cluster is shared out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiercut.engines.ray.room import Room, find_room
from tiercut.errors import InputError


@pytest.mark.parametrize(
    ("nodes", "workers", "threads", "on_gpu", "expected"),
    [
        pytest.param([{"CPU": 2}], None, None, False, Room(1, 2), id="a laptop"),
        pytest.param([{"CPU": 2}], 2, None, False, Room(2, 1), id="two workers on it"),
        pytest.param([{"CPU": 16}] * 3, None, None, False, Room(3, 16), id="three machines"),
        pytest.param([{"CPU": 16}] * 3, 4, None, False, Room(4, 8), id="one worker more"),
        pytest.param([{"CPU": 16}] * 3, 4, 2, False, Room(4, 2), id="with few threads"),
        pytest.param([{"CPU": 0}, {"CPU": 4}], None, None, False, Room(1, 4), id="an idle head"),
        pytest.param([{"CPU": 9, "GPU": 4}], None, None, True, Room(4, 2, 1), id="four GPUs"),
        pytest.param([{"CPU": 8, "GPU": 1}], 2, None, True, Room(2, 4, 0.5), id="half of a GPU"),
        pytest.param(
            [{"CPU": 64}, {"CPU": 8, "GPU": 2}], None, None, True, Room(2, 4, 1), id="GPUs on one"
        ),
    ],
)
def test_shares(nodes, workers, threads, on_gpu, expected):
    assert find_room(nodes, workers, threads, on_gpu=on_gpu) == expected


@given(
    st.lists(st.integers(1, 64).map(lambda n: {"CPU": float(n)}), min_size=1, max_size=5),
    st.integers(1, 20),
)
def test_as_many_cores_as_all_workers_can_have(nodes, workers):
    def fits(cpus):
        return sum(int(node["CPU"] // cpus) for node in nodes) >= workers

    if not fits(1):
        with pytest.raises(InputError):
            find_room(nodes, workers, None, on_gpu=False)
        return
    room = find_room(nodes, workers, None, on_gpu=False)
    assert room.workers == workers
    assert fits(room.cpus)
    assert not fits(room.cpus + 1)


@pytest.mark.parametrize(
    ("nodes", "workers", "threads", "on_gpu", "message"),
    [
        ([{"CPU": 2}], 3, None, False, r"3 workers do not fit the cluster, .* \[2\] cores"),
        ([{"CPU": 4}], 1, 8, False, "1 workers with 8 threads each do not fit"),
        ([{"CPU": 4}], None, None, True, r"0 workers do not fit .* \[0\] GPUs"),
        ([{"CPU": 4}], 1, None, True, r"1 workers do not fit .* \[0\] GPUs"),
    ],
)
def test_too_much_is_refused(nodes, workers, threads, on_gpu, message):
    with pytest.raises(InputError, match=message):
        find_room(nodes, workers, threads, on_gpu=on_gpu)
