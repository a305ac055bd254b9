package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bellhop/internal/mcpserver"
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

type updateInput struct {
	SourceID string `json:"sourceId" jsonschema:"id of the source"`
	notebook.UpdateRequest
}

type deleteInput struct {
	SourceID string `json:"sourceId" jsonschema:"id of the source"`
}

func (s *Server) addTools(server *mcpserver.Server) {
	s.addSourceTools(server)
	s.addChangeTools(server)
	s.addFollowupTools(server)
}

func (s *Server) addSourceTools(server *mcpserver.Server) {
	mcpserver.Add(server, &sdk.Tool{
		Name: "create_agent_notebook", Title: "Open your notebook",
		Description: "Opens your notebook at the user's Bellhop, or finds the one you have. Call it first: the other " +
			"tools need what it returns. It also renews your agent session if that has expired. Calling it " +
			"again changes nothing else.",
		Annotations: harmless(&sdk.ToolAnnotations{IdempotentHint: true}),
	}, func(ctx context.Context, in *notebook.CreateRequest) (*notebook.CreateResponse, error) {
		return s.Notebooks.Create(ctx, callerOf(ctx), in)
	})
	mcpserver.Add(server, &sdk.Tool{
		Name: "save_code_with_context", Title: "Save code to the notebook",
		Description: "Saves a piece of code with the reason you wrote it, as a new source in your notebook, and " +
			"checks it with a parser or compiler front end without running it. Code with errors is saved " +
			"too: look at source.metadata.verification, whose summary says what was found and whose " +
			"diagnostics say where, and save the corrected code.",
		Annotations: harmless(&sdk.ToolAnnotations{}),
	}, func(ctx context.Context, in *notebook.SaveRequest) (*notebook.SourceResponse, error) {
		resp, err := s.Notebooks.Save(ctx, callerOf(ctx), in)
		if err == nil {
			omitContent(&resp.Source)
		}
		return resp, err
	})
	mcpserver.Add(server, &sdk.Tool{
		Name: "verify_code", Title: "Check code",
		Description: "Checks code with a parser or compiler front end, without running or saving it. The verdict is " +
			"verified (claim says whether it parses or type-checks), failed (diagnostics say where) or " +
			"unsupported (not checked; reason says why). summary says it in a sentence.",
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: falsePointer()},
	}, func(ctx context.Context, in *notebook.VerifyRequest) (*protocol.Verification, error) {
		return s.Notebooks.Verify(ctx, in)
	})
	mcpserver.Add(server, &sdk.Tool{
		Name: "list_my_sources", Title: "List your sources",
		Description: "Lists what you saved, newest first: id, title, language, version and the last verification, " +
			"without the code.",
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

func (s *Server) addChangeTools(server *mcpserver.Server) {
	mcpserver.Add(server, &sdk.Tool{
		Name: "get_source", Title: "Read a source",
		Description: "Returns a source of yours with its newest code and, with conversation, what the user asked " +
			"about it and you answered.",
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: falsePointer()},
	}, func(ctx context.Context, in *notebook.GetRequest) (*notebook.GetResponse, error) {
		return s.Notebooks.AgentSource(ctx, callerOf(ctx), in)
	})
	mcpserver.Add(server, &sdk.Tool{
		Name: "update_source", Title: "Change a source",
		Description: "Makes new code the next version of a source of yours and checks it without running it. Earlier " +
			"versions stay. The code that the source has already makes no version. To answer a question, " +
			"use respond_to_followup.",
		Annotations: harmless(&sdk.ToolAnnotations{IdempotentHint: true}),
	}, func(ctx context.Context, in *updateInput) (*notebook.SourceResponse, error) {
		resp, err := s.Notebooks.Update(ctx, callerOf(ctx), in.SourceID, &in.UpdateRequest)
		if err == nil {
			omitContent(&resp.Source)
		}
		return resp, err
	})
	mcpserver.Add(server, &sdk.Tool{
		Name: "delete_source", Title: "Delete a source",
		Description: "Deletes a source of yours for good, with its versions and the user's conversation about it. " +
			"Only do this if the user asked for it.",
		Annotations: &sdk.ToolAnnotations{DestructiveHint: new(true), OpenWorldHint: falsePointer()},
	}, func(ctx context.Context, in *deleteInput) (*protocol.SuccessResponse, error) {
		err := s.Notebooks.DeleteAgentSource(ctx, callerOf(ctx), in.SourceID)
		return &protocol.SuccessResponse{Success: err == nil}, err
	})
}

func (s *Server) addFollowupTools(server *mcpserver.Server) {
	mcpserver.Add(server, &sdk.Tool{
		Name: "get_followup_messages", Title: "Get the user's questions",
		Description: "Returns what the user asked about your sources and you have not answered yet, oldest first, " +
			"each with what was said since your last answer. The first question about a source carries its " +
			"code. Answer every message with respond_to_followup.",
		Annotations: harmless(&sdk.ToolAnnotations{IdempotentHint: true}),
	}, func(ctx context.Context, in *sessionInput) (*notebook.FollowupsResponse, error) {
		return s.Notebooks.Followups(ctx, callerOf(ctx), in.AgentSessionID)
	})
	mcpserver.Add(server, &sdk.Tool{
		Name: "respond_to_followup", Title: "Answer a question",
		Description: "Answers one message from get_followup_messages. If the answer changes the code, send the whole " +
			"new code as codeUpdate: it becomes the source's next version, and the user sees the " +
			"difference. Each message can be answered once.",
		Annotations: harmless(&sdk.ToolAnnotations{}),
	}, func(ctx context.Context, in *respondInput) (*notebook.RespondResponse, error) {
		resp, err := s.Notebooks.Respond(ctx, callerOf(ctx), in.MessageID, &in.RespondRequest)
		if err == nil {
			omitContent(&resp.Source)
		}
		return resp, err
	})
}

func falsePointer() *bool { return new(bool) }

// harmless completes the annotations of a tool that deletes nothing and reaches only Bellhop.
func harmless(a *sdk.ToolAnnotations) *sdk.ToolAnnotations {
	a.DestructiveHint, a.OpenWorldHint = falsePointer(), falsePointer()
	return a
}

// omitContent removes the code from a response: the model wrote it and has it.
func omitContent(source *protocol.Source) { source.Content, source.ContentOmitted = "", true }
