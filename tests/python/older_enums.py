# Gives a newer pyverbs the modules of enums that older ones have: a newer one has each name in the class of its enum, but
# for some flags.
import importlib
import sys
from types import ModuleType

for older, newer in (("enums", "libibverbs_enums"), ("cm_enums", "librdmacm_enums")):
    try:
        importlib.import_module(f"pyverbs.{older}")
    except ImportError:
        enums = ModuleType(f"pyverbs.{older}")
        for name, kind in vars(importlib.import_module(f"pyverbs.{newer}")).items():
            vars(enums).update(getattr(kind, "__members__", {name: kind}))
        sys.modules[f"pyverbs.{older}"] = enums
