"""The base: the compiler and the libraries with which Bazel builds.

They are in the package root (see third_party/root), or with --config=debian12 those of the system.
"""

_TOOLCHAIN = """
load("@bazel_tools//tools/cpp:unix_cc_toolchain_config.bzl", "cc_toolchain_config")
load("@rules_cc//cc:defs.bzl", "cc_toolchain", "cc_toolchain_suite")

package(default_visibility = ["//visibility:public"])

filegroup(name = "empty")

cc_toolchain_suite(
    name = "toolchain",
    toolchains = {{"k8": ":compiler"}},
)

cc_toolchain(
    name = "compiler",
    all_files = ":empty",
    ar_files = ":empty",
    as_files = ":empty",
    compiler_files = ":empty",
    dwp_files = ":empty",
    linker_files = ":empty",
    objcopy_files = ":empty",
    strip_files = ":empty",
    supports_param_files = 1,
    toolchain_config = ":config",
    toolchain_identifier = "base",
)

# Some rules of Bazel's require that a C++ toolchain is registered, although --crosstool_top selects the one that is used.
toolchain(
    name = "registered",
    toolchain = ":compiler",
    toolchain_type = "@bazel_tools//tools/cpp:toolchain_type",
)

cc_toolchain_config(
    name = "config",
    abi_libc_version = "local",
    abi_version = "local",
    builtin_sysroot = "{root}",
    compile_flags = [
        "-B{root}/usr/bin",  # where the compiler finds the assembler
        "-Wall",
        "-fno-omit-frame-pointer",
    ],
    compiler = "compiler",
    coverage_compile_flags = ["--coverage"],
    coverage_link_flags = ["--coverage"],
    cpu = "k8",
    cxx_builtin_include_directories = [
        "{root}/usr/include",
        "{root}/usr/lib",
        # Clang names the source of a precompiled header by its full path, which Bazel would not find in the tree.
        "/proc/self/cwd/third_party/precompiled",
    ],
    dbg_compile_flags = ["-g"],
    host_system_name = "local",
    link_flags = {link_flags},
    link_libs = [
        "-lstdc++",
        "-lm",
    ],
    opt_compile_flags = [
        "-g0",
        "-O2",
        "-DNDEBUG",
        "-ffunction-sections",
        "-fdata-sections",
    ],
    opt_link_flags = ["-Wl,--gc-sections"],
    supports_start_end_lib = True,
    target_libc = "local",
    target_system_name = "local",
    # Bazel's name for the compiler is "gcc".
    tool_paths = {{tool: "{root}/usr/bin/" + {{"gcc": "{compiler}"}}.get(tool, tool) for tool in ["ar", "cpp", "dwp", "gcc", "gcov", "ld", "llvm-cov", "nm", "objcopy", "objdump", "strip"]}},
    toolchain_identifier = "base",
    unfiltered_compile_flags = {compiler_flags} + [
        "-Wno-builtin-macro-redefined",
        "-D__DATE__=\\"redacted\\"",
        "-D__TIMESTAMP__=\\"redacted\\"",
        "-D__TIME__=\\"redacted\\"",
    ],
)
"""

_CONSTANTS = """# The base with which Bazel builds.

# The programs and libraries are in this folder's usr/. If it is empty, they are those of the system.
ROOT = "{root}"

# Abseil's libraries, as options of the linker.
ABSL = {absl}

# The options with which the linker finds gRPC, and the libraries that it consists of, as archives, and the shared
# libraries that these need.
STATIC = {static}
"""

# Returns the package root.
def _root(ctx):
    for name in ["lock", "packages"]:
        ctx.path(Label("//third_party/root:" + name))
    result = ctx.execute([ctx.path(Label("//third_party/root:install")), "--path"])
    if result.return_code != 0:
        fail("there is no package root: run deploy/install first")
    return result.stdout.strip()

def _base_impl(ctx):
    root = "" if ctx.os.environ.get("STAMPGATE_BASE") == "debian12" else _root(ctx)
    libraries = root + "/usr/lib/x86_64-linux-gnu"
    link_flags = [
        "-B%s/usr/bin" % root,
        "-Wl,-z,relro,-z,now",
    ]

    # Where Clang finds the C++ library, which is GCC's.
    gcc = "--gcc-toolchain=%s/usr" % root
    if root:
        link_flags += [
            gcc,
            "-fuse-ld=mold",
            "-Wl,--dynamic-linker=%s/ld-linux-x86-64.so.2" % libraries,
            # A program finds all libraries in the root, also those that only libraries need: DT_RPATH, unlike
            # DT_RUNPATH, applies to these too.
            "-Wl,--disable-new-dtags,-rpath," + libraries,
        ]
    else:
        # The toolchain's groups of object files need a linker that knows --start-lib.
        link_flags.append("-fuse-ld=gold")
    absl = sorted([
        "-l" + path.basename[len("lib"):-len(".so")]
        for path in ctx.path(libraries).readdir()
        if path.basename.startswith("libabsl_") and path.basename.endswith(".so")
    ])
    ctx.file("WORKSPACE", "")
    ctx.file("BUILD.bazel", _TOOLCHAIN.format(
        compiler = "clang" if root else "gcc",
        compiler_flags = [gcc, "-Wthread-safety"] if root else ["-fno-canonical-system-headers", "-Wno-free-nonheap-object"],
        link_flags = repr(link_flags),
        root = root,
    ))
    static = []
    if root:
        # The targets of gRPC, Protocol Buffers and Abseil name the other archives.
        static = ["-L%s/usr/lib/static" % root] + sorted([
            "-l" + path.basename[len("lib"):-len(".a")]
            for path in ctx.path(root + "/usr/lib/static").readdir()
            if not path.basename.startswith(("libabsl_", "libgpr", "libgrpc", "libprotobuf"))
        ]) + ["-lssl", "-lcrypto", "-lz"]
    ctx.file("base.bzl", _CONSTANTS.format(absl = repr(absl), root = root, static = repr(static)))

base_repository = repository_rule(
    implementation = _base_impl,
    environ = [
        "HOME",
        "STAMPGATE_BASE",
    ],
    local = True,
)
