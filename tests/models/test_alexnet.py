from torch import nn

from tiercut.models.alexnet import alexnet


def test_alexnet_has_exactly_the_papers_parameters(traced):
    assert traced("alexnet").parameters == 3_868_170


def test_work_per_layer_is_as_specified(mmac):
    expected = [0.226, 3.613, 3.613, 14.451, 28.901, 2.359, 0.524, 0.005]
    assert mmac("alexnet") == expected


def test_activations_per_layer_are_as_specified(elements):
    assert elements("alexnet") == [6272, 3136, 6272, 12544, 2304, 1024, 512, 10]


def test_layers_have_readable_names():
    assert alexnet().layer_names == (
        *("conv1", "conv2", "conv3", "conv4", "conv5"),
        *("fc1", "fc2", "fc3"),
    )


def test_dropout_follows_the_first_two_fully_connected_layers():
    with_dropout = [
        name
        for name, layer in alexnet().named_layers()
        if any(isinstance(part, nn.Dropout) and part.p == 0.5 for part in layer.modules())
    ]
    assert with_dropout == ["fc1", "fc2"]


def test_the_number_of_classes_can_be_chosen():
    model = alexnet(classes=62)
    assert model(model.random_input(batch=2)).shape == (2, 62)
