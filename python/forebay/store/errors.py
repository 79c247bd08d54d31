# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a recording; needs no wheel, so that a missing one can be told."""


class StoreError(Exception):
    """What is wrong with a recording or with what was asked of it.

    Parameters
    ----------
    message : str
        What, with field, value and limit.
    remedy : str
        What to do.
    """

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy
