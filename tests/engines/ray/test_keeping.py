"""States are kept at once where that costs nothing, never where nobody wants it, and in the end."""

from tiercut.engines.ray.keeping import MOST_ORDERS, Keeping


def test_what_cost_nothing_is_due():
    assert Keeping().is_due(1)


def test_what_costs_more_than_its_share_waits_until_too_much_would_be_lost():
    keeping = Keeping(share=0)
    with keeping.measuring():
        pass
    assert not keeping.is_due(MOST_ORDERS - 1)
    assert keeping.is_due(MOST_ORDERS)
    keeping.restart()
    assert not keeping.is_due(1)
