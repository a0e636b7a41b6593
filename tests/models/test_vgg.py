import pytest

from tiercut.models.vgg import vgg11, vgg19


@pytest.mark.parametrize(("name", "parameters"), [("vgg11", 9_231_114), ("vgg19", 20_040_522)])
def test_the_parameters_are_exactly_as_many_as_specified(traced, name, parameters):
    assert traced(name).parameters == parameters


def test_vgg11_work_per_layer_is_as_specified(mmac):
    expected = [1.769, 18.874, 18.874, 37.749, 18.874, 37.749, 9.437, 9.437, 0.005]
    assert mmac("vgg11") == expected


def test_vgg11_activations_per_layer_are_as_specified(elements):
    assert elements("vgg11") == [16384, 8192, 16384, 4096, 8192, 2048, 2048, 512, 10]


def test_vgg19_work_totals_as_specified(traced):
    assert round(traced("vgg19").flops.sum() / 2e6, 1) == 398.1


@pytest.mark.parametrize(("model", "depth"), [(vgg11(), 9), (vgg19(), 17)])
def test_every_convolution_is_a_layer_and_one_linear_layer_ends_the_model(model, depth):
    convolutions = [f"conv{number}" for number in range(1, depth)]
    assert model.layer_names == (*convolutions, "fc1")


@pytest.mark.parametrize("factory", [vgg11, vgg19])
def test_the_number_of_classes_can_be_chosen(factory):
    model = factory(classes=100)
    assert model(model.random_input(batch=2)).shape == (2, 100)
