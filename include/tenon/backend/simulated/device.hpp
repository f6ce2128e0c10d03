// Devices that are not there, as numbers: what backend::simulated computes times from. A device is a type, so that it
// can be a template argument; users write their own.
#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>

#include "tenon/core/fixed_string.hpp"

namespace tenon::device {

/// Bytes, seconds, and operations per second (a multiply-add is two). The efficiencies are the shares of the data sheet's
/// rates that good kernels reach.
struct description {
  double memory = 0;        // bytes
  double bandwidth = 0;     // of its memory, bytes per second
  double flops_16 = 0;      // of matrix units, f16 or bf16 into fp32, without sparsity
  double flops_8 = 0;       // of matrix units, int8; where there are none, those of 16 bits
  double flops_32 = 0;      // fp32 outside of the matrix units
  int multiprocessors = 0;  // that tiles of a product are handed to, in waves; 0: work divides evenly

  double bandwidth_efficiency = 1;
  double product_efficiency = 1;    // of matrix products in large tiles
  double attention_efficiency = 1;  // of attention over long prompts

  double graph_launch = 0;  // seconds from one kernel of a graph to the next
  double eager_launch = 0;  // the same for kernels that are started one by one

  double host_bandwidth = 25e9;  // between its memory and the host's
  int ranks = 1;                 // devices that share each layer (tensor parallelism)
  double link_latency = 0;       // of an all-reduce between them
  double link_bandwidth = 0;     // of each, in one direction, as an all-reduce reaches it
};

/// What stands for a device:
///   name         for logs, a fixed_string
///   describe()   a description; constexpr where nothing has to be measured
template <class D>
concept policy = requires {
  { D::name } -> std::convertible_to<std::string_view>;
  { D::describe() } -> std::same_as<description>;
};

// Rates: NVIDIA's data sheets. Efficiencies and launch times: fitted to the product times of Llama-2-7B in the profiles of
// Vidur (Agrawal et al., "Vidur: A Large-Scale Simulation Framework for LLM Inference", 2024), one third of those on 1 and
// 2 devices; all-reduces, to its profiles of them. Attention: the shares that FlashAttention-2 (A100) and -3 (H100) report for
// head_dim 128. tests/backend/simulated states how far off the rest of the profiles and published whole engines are.

/// NVIDIA A100, SXM4, 80 GB.
struct a100_80gb {
  static constexpr auto name = fixed_string("A100-80GB");
  static constexpr description describe() {
    description made;
    made.memory = 80e9;
    made.bandwidth = 2039e9;
    made.flops_16 = 312e12;
    made.flops_8 = 624e12;
    made.flops_32 = 19.5e12;
    made.multiprocessors = 108;
    made.bandwidth_efficiency = 0.80;
    made.product_efficiency = 0.80;
    made.attention_efficiency = 0.60;
    made.graph_launch = 2.5e-6;
    made.eager_launch = 5e-6;
    made.link_latency = 25e-6;
    made.link_bandwidth = 160e9;
    return made;
  }
};

/// NVIDIA H100, SXM5, 80 GB.
struct h100_sxm {
  static constexpr auto name = fixed_string("H100-SXM");
  static constexpr description describe() {
    description made;
    made.memory = 80e9;
    made.bandwidth = 3350e9;
    made.flops_16 = 989e12;
    made.flops_8 = 1979e12;
    made.flops_32 = 67e12;
    made.multiprocessors = 132;
    made.bandwidth_efficiency = 0.90;
    made.product_efficiency = 0.80;
    made.attention_efficiency = 0.70;
    made.graph_launch = 1.3e-6;
    made.eager_launch = 5e-6;
    made.link_latency = 20e-6;
    made.link_bandwidth = 340e9;
    return made;
  }
};

/// NVIDIA GeForce RTX 4090. Its matrix units do half their rate when they sum in fp32; single devices only.
struct rtx_4090 {
  static constexpr auto name = fixed_string("RTX-4090");
  static constexpr description describe() {
    description made;
    made.memory = 24e9;
    made.bandwidth = 1008e9;
    made.flops_16 = 165e12;
    made.flops_8 = 660e12;
    made.flops_32 = 82.6e12;
    made.multiprocessors = 128;
    made.bandwidth_efficiency = 0.88;  // zeux/calm reports 892 GB/s for a whole model in 16 bits
    made.product_efficiency = 0.80;
    made.attention_efficiency = 0.60;
    made.graph_launch = 2e-6;
    made.eager_launch = 5e-6;
    made.link_latency = 30e-6;
    made.link_bandwidth = 20e9;  // over PCIe 4
    return made;
  }
};

/// The same card without NVLink, on PCIe 4: sums pass through the host's memory. Assumed, not fitted.
template <policy Device>
struct over_pcie {
  static constexpr auto name = Device::name + " (PCIe)";
  static constexpr description describe() {
    description made = Device::describe();
    made.link_latency = 30e-6;
    made.link_bandwidth = 20e9;
    return made;
  }
};

/// Devices of one kind that share every layer: heads and columns are split, and two sums a layer are exchanged (Shoeybi et
/// al., "Megatron-LM", 2019).
template <policy Device, int Ranks>
struct tensor_parallel {
  static_assert(Ranks > 1, "tenon: tensor_parallel<Device, Ranks> needs at least two devices");
  static constexpr auto name = decimal<static_cast<std::size_t>(Ranks)>() + " x " + Device::name;
  static constexpr description describe() {
    description made = Device::describe();
    made.ranks *= Ranks;
    return made;
  }
};

static_assert(policy<a100_80gb> && policy<h100_sxm> && policy<rtx_4090> &&
              policy<tensor_parallel<a100_80gb, 2>>);

}  // namespace tenon::device
