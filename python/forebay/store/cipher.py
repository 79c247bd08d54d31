# SPDX-License-Identifier: Apache-2.0
"""Payload of an encrypted recording, decrypted: AES in counter mode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from forebay.store.errors import StoreError
from forebay.store.schema import CIPHERS

if TYPE_CHECKING:
    from forebay.store.superblock import Superblock

BLOCK = 16
# Bytes of a key, of which cipher.
KEY_BYTES = dict(zip(CIPHERS, (16, 32), strict=True))
CHECK_INFO = b"forebay key check"


class RecordingKey:
    """The key of a recording, derived from the user's.

    Parameters
    ----------
    key : bytes
        The user's: 16 bytes, or 32.
    of : Superblock
        That of the recording.

    Raises
    ------
    StoreError
        Where the recording is not encrypted, or not with this key, or `cryptography` is missing.
    """

    def __init__(self, key: bytes, of: Superblock) -> None:
        try:
            from cryptography.hazmat.primitives.hashes import SHA256
            from cryptography.hazmat.primitives.kdf.hkdf import HKDF
        except ImportError as error:
            raise StoreError(f"it is encrypted: {error}", "pip install cryptography") from error
        cipher = of.schema.cipher
        if cipher is None:
            raise StoreError("a key is given, but the recording is not encrypted", "leave it out")
        if len(key) != KEY_BYTES[cipher]:
            what = f"the key has {len(key)} bytes, but the recording is encrypted with {cipher}"
            raise StoreError(what, f"give the {KEY_BYTES[cipher]} bytes that it was recorded with")

        def derive(info: bytes, length: int) -> bytes:
            return HKDF(SHA256(), length, of.session.bytes, info).derive(key)

        # Where both superblocks were lost it is not known.
        if any(of.key_check) and derive(CHECK_INFO, len(of.key_check)) != of.key_check:
            raise StoreError("the key is another one", "the recording was made with its own")
        self._key = derive(f"forebay {cipher}".encode(), len(key))

    def decrypt(self, nonce: int, offset: int, parts: Iterator[bytes]) -> Iterator[bytes]:
        """Decrypt bytes of an object that begin at an offset.

        Raises
        ------
        StoreError
            Where their nonce was lost.
        """
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import AES
        from cryptography.hazmat.primitives.ciphers.modes import CTR

        if nonce == 0:
            raise StoreError("its nonce was lost", "it cannot be decrypted any more")
        counter = nonce << 64 | offset // BLOCK
        decryptor = Cipher(AES(self._key), CTR(counter.to_bytes(BLOCK, "big"))).decryptor()
        # An extent may begin within a block.
        decryptor.update(bytes(offset % BLOCK))
        for part in parts:
            yield decryptor.update(part)
