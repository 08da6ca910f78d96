"""Devices: the only room that asks JAX for them, and that chooses among those of a machine."""

from jaxtree.devices.current import current_platform as current_platform
from jaxtree.devices.current import default_device as default_device
from jaxtree.devices.current import kind_of as kind_of
from jaxtree.devices.current import platform_of as platform_of
from jaxtree.devices.policy import computing_on as computing_on
from jaxtree.devices.policy import in_callers_context as in_callers_context
from jaxtree.devices.policy import placed as placed
from jaxtree.devices.policy import set_device as set_device
