# SPDX-License-Identifier: Apache-2.0
"""Images and networks in integers: twins of what `rtl/dnn` computes."""
