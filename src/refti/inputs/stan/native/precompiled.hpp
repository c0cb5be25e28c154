// All that generated code includes, parsed once and kept as a precompiled header.
#pragma once

#include "same_bits.hpp"

#include <stan/model/model_header.hpp>

#include "program.hpp"
