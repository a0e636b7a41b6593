"""Which convolutions may take shortcuts."""

from torch import nn

from tiercut.engines.convolution import QuickConv2d, take_shortcuts


def test_torchs_own_do_and_keep_their_names_and_values():
    model = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.Sequential(nn.Conv2d(4, 4, 1)))
    before = model.state_dict()
    take_shortcuts(model)
    assert [type(conv) for conv in (model[0], model[1][0])] == [QuickConv2d] * 2
    assert list(model.state_dict()) == list(before)


def test_others_stay_as_they_are():
    class Own(nn.Conv2d):
        pass

    others = nn.Sequential(
        nn.Conv2d(4, 4, 3, groups=2),
        nn.Conv2d(4, 4, 3, dilation=2),
        nn.Conv2d(4, 4, 3, padding="same"),
        nn.Conv2d(4, 4, 3, padding=1, padding_mode="circular"),
        Own(4, 4, 3),
        nn.Conv1d(4, 4, 3),
    )
    kinds = [type(other) for other in others]
    take_shortcuts(others)
    assert [type(other) for other in others] == kinds
