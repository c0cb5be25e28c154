// Differential equations whose solver crawls. Far from the data, where the search for modes looks,
// a right-hand side may be so fast or so stiff that Stan's own limit, a million steps between any
// two times, is minutes for one density. So right-hand sides are counted through one density, and
// the solver is stopped where there are too many: the density is rejected there, as by Stan's limit.
// Included before generated code, whose calls of solvers it meets.
#pragma once

#include "program.hpp"

#include <stdexcept>

namespace refti {

inline void count() {
  if (++solver_work.done > solver_work.most)
    throw std::domain_error("the solver of a differential equation was stopped after " +
                            std::to_string(solver_work.most) +
                            " evaluations of its right-hand side (solver_limit=)");
}

template <typename Function>
struct Counted {
  Function function;

  template <typename... Arguments>
  auto operator()(const Arguments&... arguments) const {
    count();
    return function(arguments...);
  }
};

template <typename Function>
Counted<Function> counted(const Function& function) {
  return {function};
}

}  // namespace refti

// A macro does not meet itself again in what it stands for.
#define dae(f, ...) dae(refti::counted(f), __VA_ARGS__)
#define dae_tol(f, ...) dae_tol(refti::counted(f), __VA_ARGS__)
#define integrate_ode_adams(f, ...) integrate_ode_adams(refti::counted(f), __VA_ARGS__)
#define integrate_ode_bdf(f, ...) integrate_ode_bdf(refti::counted(f), __VA_ARGS__)
#define integrate_ode_rk45(f, ...) integrate_ode_rk45(refti::counted(f), __VA_ARGS__)
#define ode_adams(f, ...) ode_adams(refti::counted(f), __VA_ARGS__)
#define ode_adams_tol(f, ...) ode_adams_tol(refti::counted(f), __VA_ARGS__)
#define ode_adjoint_tol_ctl(f, ...) ode_adjoint_tol_ctl(refti::counted(f), __VA_ARGS__)
#define ode_bdf(f, ...) ode_bdf(refti::counted(f), __VA_ARGS__)
#define ode_bdf_tol(f, ...) ode_bdf_tol(refti::counted(f), __VA_ARGS__)
#define ode_ckrk(f, ...) ode_ckrk(refti::counted(f), __VA_ARGS__)
#define ode_ckrk_tol(f, ...) ode_ckrk_tol(refti::counted(f), __VA_ARGS__)
#define ode_rk45(f, ...) ode_rk45(refti::counted(f), __VA_ARGS__)
#define ode_rk45_tol(f, ...) ode_rk45_tol(refti::counted(f), __VA_ARGS__)
