# SPDX-License-Identifier: Apache-2.0
"""Recordings, opened where they lie: image or block device, without conversion.

>>> from forebay.store import Recording, rows_of
>>> recording = Recording("run.img")
>>> for row in rows_of(recording.objects()):
...     payload = recording.read(row)
"""

from forebay.store.disk import StoreError
from forebay.store.recording import Recording, rows_of

__all__ = ["Recording", "StoreError", "rows_of"]
