// Package lazyregexp has regular expressions that are compiled at their first use. One at package level then costs
// nothing in the many processes that never use it, such as the helpers that start each agent's program.
package lazyregexp
