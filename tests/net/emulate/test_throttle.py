"""Shares of a core are written as the kernel wants them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiercut.errors import MissingError
from tiercut.net.emulate.names import Names
from tiercut.net.emulate.throttle import Throttle, find_throttle, quota_and_period, require_throttle


@given(st.floats(0.001, 1000))
def test_a_quota_is_the_share_of_its_period(share):
    quota, period = quota_and_period(share)
    assert quota / period == pytest.approx(share, rel=0.001)
    assert quota >= 1_000
    assert 1_000 <= period <= 1_000_000


@pytest.mark.usefixtures("throttling")
def test_the_kernel_takes_them():
    throttle, name = find_throttle(), Names().of("trial")
    for share in (0.001, 0.117, 1, 1.5):
        throttle.add(name, share)
        assert throttle.has(name)
        assert name in throttle.names()
        assert throttle.running(name) == set()
        throttle.remove(name)
        throttle.remove(name)
        assert not throttle.has(name)


def test_version_2_has_one_file(tmp_path):
    Throttle(tmp_path, 2).add("made", 0.25)
    assert (tmp_path / "made" / "cpu.max").read_text() == "1250 5000"
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+cpu"


def mounted(tmp_path, *lines):
    mounts = tmp_path / "mounts"
    mounts.write_text("".join(f"{line} 0 0\n" for line in lines))
    return mounts


def test_the_form_is_found_among_the_mounts(tmp_path):
    unified = f"cgroup2 {tmp_path} cgroup2 rw,relatime"
    separate = "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct"
    other = "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset"
    controllers = tmp_path / "cgroup.controllers"
    controllers.write_text("hugetlb")
    assert find_throttle(mounted(tmp_path, "proc /proc proc rw", other, unified)) is None
    found = find_throttle(mounted(tmp_path, other, unified, separate))
    assert (str(found.root), found.version) == ("/sys/fs/cgroup/cpu,cpuacct", 1)
    controllers.write_text("cpuset cpu io")
    assert find_throttle(mounted(tmp_path, unified)) == Throttle(tmp_path, 2)


def test_a_machine_without_says_so(tmp_path):
    with pytest.raises(MissingError, match="no cpu controller is mounted"):
        require_throttle(mounted(tmp_path, "proc /proc proc rw"))
    with pytest.raises(MissingError, match="cannot be throttled here: No such file"):
        Throttle(tmp_path / "nowhere", 1).add("made", 0.5)
