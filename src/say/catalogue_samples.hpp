// Every message of the catalogue with sample values, in the order of docs/messages.md.
#pragma once

#include <string>
#include <vector>

namespace tide::say {

struct Sample {
  std::string topic;     // the part of the catalogue
  std::string function;  // that makes the message
  std::string text;
};
std::vector<Sample> catalogue_samples();

}  // namespace tide::say
