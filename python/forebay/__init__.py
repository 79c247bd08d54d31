# SPDX-License-Identifier: Apache-2.0
"""Forebay: streaming network-to-storage accelerators, the Python side."""
