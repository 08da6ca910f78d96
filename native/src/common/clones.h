// Functions compiled for several processors, of which the loader takes the best.

#ifndef JAXTREE_NATIVE_COMMON_CLONES_H_
#define JAXTREE_NATIVE_COMMON_CLONES_H_

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define JAXTREE_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#define JAXTREE_HAS_WIDE_COUNTS 1
#else
#define JAXTREE_CLONES
#endif

#endif  // JAXTREE_NATIVE_COMMON_CLONES_H_
