# SPDX-License-Identifier: Apache-2.0
"""Payloads by reference on several machines: one example each for Dask, Ray and Spark."""
