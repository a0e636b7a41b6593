"""Cores are shared out as a fleet's throughputs are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiercut.errors import InputError
from tiercut.fleet import Access, Fleet
from tiercut.net.emulate.shares import share_out


def fleet(throughputs, server):
    count = len(throughputs)
    rates = np.full(count, 1e6)
    names = tuple(f"client-{n}" for n in range(count))
    examples = np.ones(count, dtype=np.int64)
    return Fleet(names, np.array(throughputs), examples, server, rates, Access(rates))


@given(
    st.lists(st.floats(1e9, 2e10), min_size=1, max_size=9), st.floats(1e9, 2e10), st.floats(1, 64)
)
def test_shares_are_in_proportion_and_use_all_cores(throughputs, server, cores):
    shares = share_out(fleet(throughputs, server), cores)
    assert shares.total == pytest.approx(cores)
    assert np.divide(shares.clients, throughputs) == pytest.approx(shares.server / server)


def test_a_host_that_would_get_next_to_nothing_is_refused():
    with pytest.raises(InputError, match=r"the slowest host .* would get 2e-05 of a core"):
        share_out(fleet([1e6, 1e9], 1e11), 2)
