package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bellhop/notebook"
	"bellhop/protocol"
)

type sessionInput struct {
	AgentSessionID string `json:"agentSessionId,omitempty" jsonschema:"id of your agent session, from create_agent_notebook; needed only if your token speaks for several agents"`
}

type respondInput struct {
	MessageID string `json:"messageId" jsonschema:"id of the message you answer, from get_followup_messages"`
	notebook.RespondRequest
}

func (s *Server) addTools(server *sdk.Server) {
	s.addSourceTools(server)
	s.addFollowupTools(server)
}

func (s *Server) addSourceTools(server *sdk.Server) {
	add(s, server, &sdk.Tool{
		Name: "create_agent_notebook", Title: "Open your notebook",
		Description: "Opens your notebook at the user's Bellhop, or finds the one you have. Call it first: the other tools need what it returns. " +
			"It also renews your agent session if that has expired. Calling it again changes nothing else.",
		Annotations: &sdk.ToolAnnotations{IdempotentHint: true, DestructiveHint: falsePointer(), OpenWorldHint: falsePointer()},
	}, func(ctx context.Context, in *notebook.CreateRequest) (*notebook.CreateResponse, error) {
		return s.Notebooks.Create(ctx, callerOf(ctx), in)
	})
	add(s, server, &sdk.Tool{
		Name: "save_code_with_context", Title: "Save code to the notebook",
		Description: "Saves a piece of code with the reason you wrote it, as a new source in your notebook, and checks it with a parser or compiler front end without running it. " +
			"Code that does not parse is saved too: look at source.metadata.verification.diagnostics, and save it again once it is mended.",
		Annotations: &sdk.ToolAnnotations{DestructiveHint: falsePointer(), OpenWorldHint: falsePointer()},
	}, func(ctx context.Context, in *notebook.SaveRequest) (*notebook.SourceResponse, error) {
		resp, err := s.Notebooks.Save(ctx, callerOf(ctx), in)
		if err == nil {
			omitContent(&resp.Source)
		}
		return resp, err
	})
	add(s, server, &sdk.Tool{
		Name: "verify_code", Title: "Check code",
		Description: "Checks code with a parser or compiler front end, without running or saving it. " +
			"The verdict is verified, failed (diagnostics say where) or unsupported (there is no checker for the language, which says nothing about the code).",
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: falsePointer()},
	}, func(ctx context.Context, in *notebook.VerifyRequest) (*protocol.Verification, error) {
		return s.Notebooks.Verify(ctx, in)
	})
	add(s, server, &sdk.Tool{
		Name: "list_my_sources", Title: "List your sources",
		Description: "Lists what you saved, newest first: id, title, language, version and the last verification, without the code.",
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: falsePointer()},
	}, func(ctx context.Context, in *sessionInput) (*notebook.SourcesResponse, error) {
		resp, err := s.Notebooks.AgentSources(ctx, callerOf(ctx), in.AgentSessionID)
		if err == nil {
			for i := range resp.Sources {
				omitContent(&resp.Sources[i])
			}
		}
		return resp, err
	})
}

func (s *Server) addFollowupTools(server *sdk.Server) {
	add(s, server, &sdk.Tool{
		Name: "get_followup_messages", Title: "Get the user's questions",
		Description: "Returns what the user asked about your sources and you have not answered yet, oldest first, each with the conversation before it. " +
			"Answer every message with respond_to_followup.",
		Annotations: &sdk.ToolAnnotations{IdempotentHint: true, DestructiveHint: falsePointer(), OpenWorldHint: falsePointer()},
	}, func(ctx context.Context, in *sessionInput) (*notebook.FollowupsResponse, error) {
		return s.Notebooks.Followups(ctx, callerOf(ctx), in.AgentSessionID)
	})
	add(s, server, &sdk.Tool{
		Name: "respond_to_followup", Title: "Answer a question",
		Description: "Answers one message from get_followup_messages. If the answer changes the code, send the whole new code as codeUpdate: " +
			"it becomes the source's next version, and the user sees the difference. Each message can be answered once.",
		Annotations: &sdk.ToolAnnotations{DestructiveHint: falsePointer(), OpenWorldHint: falsePointer()},
	}, func(ctx context.Context, in *respondInput) (*notebook.RespondResponse, error) {
		resp, err := s.Notebooks.Respond(ctx, callerOf(ctx), in.MessageID, &in.RespondRequest)
		if err == nil {
			omitContent(&resp.Source)
		}
		return resp, err
	})
}

func falsePointer() *bool { return new(bool) }

// omitContent removes the code from a response: the model wrote it and has it.
func omitContent(source *protocol.Source) { source.Content, source.ContentOmitted = "", true }

// add registers a use case as a tool.
func add[In, Out any](s *Server, server *sdk.Server, tool *sdk.Tool, do func(ctx context.Context, in *In) (*Out, error)) {
	sdk.AddTool(server, tool, func(ctx context.Context, _ *sdk.CallToolRequest, in In) (*sdk.CallToolResult, *Out, error) {
		out, err := do(ctx, &in)
		if err != nil {
			return nil, nil, s.forModel(ctx, tool.Name, err)
		}
		text, err := asText(out)
		if err != nil {
			return nil, nil, s.forModel(ctx, tool.Name, err)
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, out, nil
	})
}

// asText encodes a result as JSON text. The SDK would escape <, > and &, and clients pass the
// text to their models unchanged.
func asText(out any) (string, error) {
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return "", err
	}
	return strings.TrimSuffix(text.String(), "\n"), nil
}

// forModel turns an error into a sentence for the model: the message, the hint and the code.
// Causes go to the log.
func (s *Server) forModel(ctx context.Context, tool string, err error) error {
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code == protocol.CodeInternal {
		s.Log.ErrorContext(ctx, "tool failed", "tool", tool, "err", err)
		return errors.New("Internal error. Try again later. (internal)") //nolint:staticcheck // a sentence for a model
	}
	text := e.Message + "."
	if e.Hint != "" {
		text += " " + e.Hint + "."
	}
	return errors.New(text + " (" + string(e.Code) + ")")
}
