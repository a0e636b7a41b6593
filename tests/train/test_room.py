"""Too little memory is said in a sentence."""

import pytest
import torch

from tiercut.errors import RoomError
from tiercut.train.room import enough_memory


def test_too_little_memory_is_no_bug():
    with pytest.raises(RoomError, match="memory left"), enough_memory():
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB. And so on.")
    with pytest.raises(ZeroDivisionError), enough_memory():
        raise ZeroDivisionError
