import pytest

from tiercut.errors import InputError
from tiercut.models.profile import SHIPPED
from tiercut.models.zoo import build_model


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_model_is_built_by_its_name(name):
    assert build_model(name).name == name


def test_the_number_of_classes_reaches_the_model():
    model = build_model("small", classes=5)
    assert model(model.random_input(batch=2)).shape == (2, 5)


def test_a_shipped_models_own_input_shape_may_be_repeated():
    assert build_model("small", input_shape=[1, 8, 8]).input_shape == (1, 8, 8)


def test_another_input_shape_for_a_shipped_model_is_refused():
    with pytest.raises(InputError, match=r"small takes samples of shape \(1, 8, 8\), not \(3, 8"):
        build_model("small", input_shape=(3, 8, 8))


def test_an_unknown_name_is_refused_with_the_nearest_spelling():
    with pytest.raises(InputError, match=r"no model 'vgg12' \(did you mean 'vgg1.'.*:factory"):
        build_model("vgg12")


def test_fewer_than_two_classes_are_refused():
    with pytest.raises(InputError, match="classes is 1; a classifier needs at least 2"):
        build_model("small", classes=1)
