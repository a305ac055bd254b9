package broker_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/protocol"
)

func (k *kit) templates() *broker.Templates {
	return &broker.Templates{Store: k.store, Now: k.clock.Now}
}

func variables(all ...protocol.TemplateVariable) []protocol.TemplateVariable { return all }

func TestATemplateIsMadeChangedAndFilled(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		templates, bob := k.templates(), k.newUser("bob@example.org", false)
		in := &protocol.Template{
			Name: " Fix ", Prompt: "Fix {{ what }} on {{branch}}. Keep {{ .Values }} and {{{what}}}.", Agent: "claude",
			PermissionMode: protocol.ModePlan,
			Variables: variables(protocol.TemplateVariable{Name: "what", Required: true},
				protocol.TemplateVariable{Name: "branch", Default: "main", Choices: []string{"main", "next"}}),
		}
		made, err := templates.Create(k.ctx, bob, in)
		k.must(err)
		fill := func(values map[string]string) (any, any) {
			filled, err := templates.Fill(k.ctx, bob.UserID, made.ID, &protocol.FillTemplateRequest{Values: values})
			if err != nil {
				return nil, fault(err)
			}
			return filled, nil
		}
		filled, _ := fill(map[string]string{"what": "{{branch}} <b>"})
		same(t, filled, `{'prompt':'Fix {{branch}} <b> on main. Keep {{ .Values }} and {{{branch}} <b>}.','gone':[],
			'task':{'title':'Fix {{branch}} <b> on main. Keep {{ .Values }} and {{{branch}} <b>}.','agent':'claude',
			'permissionMode':'plan'}}`)
		for _, c := range []struct {
			values map[string]string
			want   string
		}{
			{nil, `{'code':'invalid','error':'Values are missing: what'}`},
			{
				map[string]string{"what": "x", "other": "y", "more": "z"},
				`{'code':'invalid','error':'The template has no variables more, other'}`,
			},
			{
				map[string]string{"what": "x", "branch": "old"},
				`{'code':'invalid','error':'The value of branch is not among its choices','hint':'Choose one of main, next'}`,
			},
			{
				map[string]string{"what": strings.Repeat("x", protocol.MaxTemplatePrompt)},
				`{'code':'invalid','error':'With its values the prompt is longer than 65536 bytes'}`,
			},
		} {
			_, got := fill(c.values)
			same(t, got, c.want)
		}
		_, err = templates.Fill(k.ctx, k.user.UserID, made.ID, &protocol.FillTemplateRequest{})
		same(t, fault(err), `{'code':'not_found','error':'Template not found'}`)
		_, err = templates.Create(k.ctx, bob, in)
		same(t, fault(err), `{'code':'conflict','error':'There is a template \'Fix\' already','hint':'Use another name'}`)
		in.Name = "Mend"
		changed, err := templates.Update(k.ctx, bob, made.ID, in)
		k.must(err)
		if changed.Name != "Mend" || !changed.CreatedAt.Equal(made.CreatedAt) {
			t.Errorf("%+v", changed)
		}
		k.must(templates.Delete(k.ctx, bob, made.ID))
		same(t, fault(templates.Delete(k.ctx, bob, made.ID)), `{'code':'not_found','error':'Template not found'}`)
	})
}

func TestOnlyAdministratorsChangeTemplatesForAll(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	templates, bob := k.templates(), k.newUser("bob@example.org", false)
	in := &protocol.Template{Name: "All", Prompt: "Go", ForAll: true}
	const forbidden = `{'code':'forbidden','error':'Only administrators change templates for all users'}`
	_, err := templates.Create(k.ctx, bob, in)
	same(t, fault(err), forbidden)
	made, err := templates.Create(k.ctx, k.user, in)
	k.must(err)
	list, err := templates.List(k.ctx, bob.UserID)
	k.must(err)
	if len(list.Templates) != 1 || !list.Templates[0].ForAll {
		t.Errorf("%+v", list)
	}
	_, err = templates.Update(k.ctx, bob, made.ID, in)
	same(t, fault(err), forbidden)
	same(t, fault(templates.Delete(k.ctx, bob, made.ID)), forbidden)
	_, err = templates.Update(k.ctx, k.user, made.ID, &protocol.Template{Name: "All", Prompt: "Go"})
	same(t, fault(err), `{'code':'invalid','error':'forAll cannot be changed','hint':'Create another template'}`)
	k.must(templates.Delete(k.ctx, k.user, made.ID))
}

func TestTemplatesAreBounded(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	templates := k.templates()
	long := strings.Repeat("x", protocol.MaxTemplateValue+1)
	v := func(name string) protocol.TemplateVariable { return protocol.TemplateVariable{Name: name} }
	many := variables()
	for i := range protocol.MaxTemplateVariables + 1 {
		many = append(many, v(fmt.Sprint("v", i)))
	}
	for want, in := range map[string]*protocol.Template{
		"name must be text on one line":       {Name: "a\nb", Prompt: "x"},
		"name is longer than 100 characters":  {Name: strings.Repeat("é", 101), Prompt: "x"},
		"prompt is required":                  {Name: "a", Prompt: " \n"},
		"prompt is longer than 65536 bytes":   {Name: "a", Prompt: strings.Repeat("x", 65537)},
		"agent is longer than 200 characters": {Name: "a", Prompt: "x", Agent: strings.Repeat("x", 201)},
		"There are more than 20 variables":    {Name: "a", Prompt: "x", Variables: many},
		"The prompt has unknown variables: b, c": {
			Name: "a", Prompt: "{{b}} {{ c }} {{b}} {{d}}", Variables: variables(v("d")),
		},
		"The variable b is there twice": {Name: "a", Prompt: "x", Variables: variables(v("b"), v("b"))},
		"branch needs a project":        {Name: "a", Prompt: "x", Branch: "next"},
		"The default of the variable b is not among its choices": {
			Name: "a", Prompt: "x",
			Variables: variables(protocol.TemplateVariable{Name: "b", Default: "c", Choices: []string{"d"}}),
		},
		"A choice of the variable b is empty": {
			Name: "a", Prompt: "x", Variables: variables(protocol.TemplateVariable{Name: "b", Choices: []string{""}}),
		},
		"A value of the variable b is longer than 2000 characters": {
			Name: "a", Prompt: "x", Variables: variables(protocol.TemplateVariable{Name: "b", Default: long}),
		},
		"variables[0].name must be a letter, then letters, digits and _; at most 40 characters": {
			Name: "a", Prompt: "x", Variables: variables(v("b c")),
		},
	} {
		_, err := templates.Create(k.ctx, k.user, in)
		if protocol.CodeOf(err) != protocol.CodeInvalid || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for i := range protocol.MaxTemplates {
		_, err := templates.Create(k.ctx, k.user, &protocol.Template{Name: fmt.Sprint(i), Prompt: "x"})
		k.must(err)
	}
	_, err := templates.Create(k.ctx, k.user, &protocol.Template{Name: "one more", Prompt: "x"})
	same(t, fault(err),
		`{'code':'conflict','error':'There are as many templates as there can be','hint':'Delete one first'}`)
}

// offering is a host that offers one agent and one project.
type offering struct{ offer *protocol.HostOffer }

func (o offering) Offer(context.Context, broker.Target) (*protocol.HostOffer, error) {
	return o.offer, nil
}

func (o offering) Ready(context.Context, broker.Target) (broker.HostHealth, bool, error) {
	return broker.HostOK, false, nil
}

func TestATemplateNamesWhatNoHostOffersAnyMore(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	host, err := k.hosts.Create(k.ctx, k.user, &broker.HostRequest{Name: "box", URL: "http://127.0.0.1:1", Password: "p"})
	k.must(err)
	templates := k.templates()
	templates.Offers = &broker.Offers{
		Store: k.store, Targets: k.targets, Now: k.clock.Now, Log: slog.New(slog.DiscardHandler),
		Link: offering{&protocol.HostOffer{
			Agents:   []protocol.OfferedAgent{{ID: "demo", Installed: true}, {ID: "codex"}},
			Projects: []protocol.OfferedProject{{Name: "shop"}},
		}},
	}
	fill := func(in protocol.Template) any {
		in.Prompt, in.Name = "Go", protocol.NewID()
		made, err := templates.Create(k.ctx, k.user, &in)
		k.must(err)
		filled, err := templates.Fill(k.ctx, k.user.UserID, made.ID, &protocol.FillTemplateRequest{})
		k.must(err)
		return filled
	}
	same(t, fill(protocol.Template{Agent: "demo", Project: "shop", Branch: "next", HostID: host.ID}),
		`{'prompt':'Go','gone':[],'task':{'title':'Go','agent':'demo','project':'shop','branch':'next','hostId':'`+host.ID+`'}}`)
	same(t, fill(protocol.Template{Agent: "codex", Model: "m", Project: "lost", Branch: "next", HostID: "gone"}),
		`{'prompt':'Go','task':{'title':'Go'},'gone':[{'member':'hostId','value':'gone'},
		{'member':'agent','value':'codex'},{'member':'project','value':'lost'}]}`)
}
