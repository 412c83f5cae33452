# Gives a newer pyverbs the module pyverbs.enums of older ones: a newer one has each name in the class of its enum.
import sys
from types import ModuleType

try:
    import pyverbs.enums
except ImportError:
    import pyverbs.libibverbs_enums as classes
    enums = ModuleType("pyverbs.enums")
    for kind in vars(classes).values():
        vars(enums).update(getattr(kind, "__members__", {}))
    sys.modules["pyverbs.enums"] = enums
