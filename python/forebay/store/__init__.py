# SPDX-License-Identifier: Apache-2.0
"""Recordings, opened where they lie: image or block device, without conversion.

>>> from forebay.store import Recording, rows_of
>>> recording = Recording("run.img")
>>> for row in rows_of(recording.objects()):
...     payload = recording.read(row)
"""

from typing import TYPE_CHECKING

from forebay.store.errors import StoreError

if TYPE_CHECKING:
    from forebay.store.recording import Recording, rows_of

__all__ = ["Recording", "StoreError", "rows_of"]


def __getattr__(name: str) -> object:
    """Load what needs wheels when it is used: the command line says which one is missing."""
    if name in __all__:
        from forebay.store import recording

        return getattr(recording, name)
    raise AttributeError(f"module {__name__} has no {name}")
