package main

import "bellhop/protocol"

// runsAgents returns an error on systems where agents' programs cannot be ended with all that they
// have started, nor confined: on Windows. They would outlive their sessions there.
func runsAgents(supported bool) error {
	if supported {
		return nil
	}
	return &protocol.Error{
		Code:    protocol.CodeInvalid,
		Message: "Agents' programs do not run on Windows: it cannot end them with all that they start",
		Hint: "Run 'bellhop dev', 'bellhop host' and 'bellhop agent' in WSL or on another machine; " +
			"the broker, 'bellhop chat' and the administration work here",
	}
}
