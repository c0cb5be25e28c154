// The same bits wherever numbers lie in memory. Eigen begins a sum, a product or an elementwise
// function at the first address that suits its packets, and takes the numbers before it one by one:
// another order of a sum, another implementation of exp. Stan's tape lies where malloc happened to
// put it, at multiples of 16 bytes that differ by thread and by process, so the last digit did too.
// Here Eigen takes every address for one that suits, and loads without asking for it. Included
// before anything else of Eigen or Stan.
#pragma once

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
// On every processor with these packets a load from an address that suits costs the same either way.
#define _mm_load_pd _mm_loadu_pd
#define _mm_load_ps _mm_loadu_ps
#define _mm_load_si128 _mm_loadu_si128
#define _mm_store_pd _mm_storeu_pd
#define _mm_store_ps _mm_storeu_ps
#define _mm_store_si128 _mm_storeu_si128
#define _mm256_load_pd _mm256_loadu_pd
#define _mm256_load_ps _mm256_loadu_ps
#define _mm256_load_si256 _mm256_loadu_si256
#define _mm256_store_pd _mm256_storeu_pd
#define _mm256_store_ps _mm256_storeu_ps
#define _mm256_store_si256 _mm256_storeu_si256
#define _mm512_load_pd _mm512_loadu_pd
#define _mm512_load_ps _mm512_loadu_ps
#define _mm512_load_si512 _mm512_loadu_si512
#define _mm512_store_pd _mm512_storeu_pd
#define _mm512_store_ps _mm512_storeu_ps
#define _mm512_store_si512 _mm512_storeu_si512
#endif

#include <stan/math/prim/fun/Eigen.hpp>  // Eigen with what Stan adds to it

#include <complex>

namespace Eigen::internal {

#define REFTI_EVERY_ADDRESS_SUITS(bytes, Scalar)                              \
  template <>                                                                 \
  inline Index first_aligned<bytes, Scalar, Index>(const Scalar*, Index) {    \
    return 0;                                                                 \
  }
#define REFTI_EVERY_ADDRESS_SUITS_OF(Scalar) \
  REFTI_EVERY_ADDRESS_SUITS(16, Scalar)      \
  REFTI_EVERY_ADDRESS_SUITS(32, Scalar)      \
  REFTI_EVERY_ADDRESS_SUITS(64, Scalar)
REFTI_EVERY_ADDRESS_SUITS_OF(double)
REFTI_EVERY_ADDRESS_SUITS_OF(float)
REFTI_EVERY_ADDRESS_SUITS_OF(int)
REFTI_EVERY_ADDRESS_SUITS_OF(std::complex<double>)
#undef REFTI_EVERY_ADDRESS_SUITS_OF
#undef REFTI_EVERY_ADDRESS_SUITS

}  // namespace Eigen::internal
