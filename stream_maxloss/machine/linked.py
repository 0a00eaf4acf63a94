"""What numba keeps of a function that only kernels call: its code before optimisation, to be linked into theirs.

numba optimises every function and emits machine code for it, and then links what it optimised into each caller, where
all of it is optimised once more. Of a function that nobody calls from Python only the last of these is ever run: the
rest was about a fifth of the wait for the first row of a focused learner.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding
from numba.core import codegen
from numba.core.compiler import Compiler

__all__ = ["LinkedCompiler"]

# How the names begin under which compiled code finds the Python objects of the function it came from.
ENVIRONMENT = "_ZN08NumbaEnv"


class LinkedLibrary(codegen.JITCodeLibrary):
    """Code to link into others; only the place for its environment is made here, which all that link it share."""

    def finalize(self) -> None:
        """Link in what is called, and keep it all as it is for whoever links this."""
        self._raise_if_finalized()
        code: Any = self._final_module  # type: ignore[has-type]
        own = [str(one) for one in code.global_variables if one.name.startswith(ENVIRONMENT)]
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            code.link_in(library._get_module_for_linking(), preserve=True)
        code.verify()
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        for function in code.functions:
            if not function.is_declaration and function.linkage == binding.Linkage.external:
                function.linkage = "linkonce_odr"
        self._shared_module = code
        empty = str(self._codegen._create_empty_module(self.name))
        self._final_module = binding.parse_assembly("\n".join([empty, *own]))
        self._finalize_final_module()


class LinkedCompiler(Compiler):
    """numba's compiler for a function that only kernels call."""

    def __init__(self, typing_context: Any, target_context: Any, library: Any, *rest: Any) -> None:
        if library is None:
            library = LinkedLibrary(target_context.codegen(), "linked")
            library.enable_object_caching()
        super().__init__(typing_context, target_context, library, *rest)
