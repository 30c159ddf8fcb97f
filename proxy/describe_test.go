package proxy

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
)

// describe writes a message of the server as one line without what differs between runs.
func describe(m pgproto3.BackendMessage) (byte, string) {
	switch m := m.(type) {
	case *pgproto3.AuthenticationOk:
		return 'R', "AuthenticationOk"
	case *pgproto3.AuthenticationCleartextPassword:
		return 'R', "AuthenticationCleartextPassword"
	case *pgproto3.AuthenticationMD5Password:
		return 'R', "AuthenticationMD5Password"
	case *pgproto3.AuthenticationSASL:
		return 'R', fmt.Sprintf("AuthenticationSASL %q", m.AuthMechanisms)
	case *pgproto3.AuthenticationSASLContinue:
		return 'R', "AuthenticationSASLContinue"
	case *pgproto3.AuthenticationSASLFinal:
		return 'R', "AuthenticationSASLFinal"
	case *pgproto3.BackendKeyData:
		return 'K', "BackendKeyData"
	case *pgproto3.NegotiateProtocolVersion:
		return 'v', fmt.Sprintf("NegotiateProtocolVersion %d %q", m.NewestMinorProtocol, m.UnrecognizedOptions)
	case *pgproto3.ParameterStatus:
		return 'S', fmt.Sprintf("ParameterStatus %s", m.Name)
	case *pgproto3.ReadyForQuery:
		return 'Z', fmt.Sprintf("ReadyForQuery %c", m.TxStatus)
	case *pgproto3.ParseComplete:
		return '1', "ParseComplete"
	case *pgproto3.BindComplete:
		return '2', "BindComplete"
	case *pgproto3.CloseComplete:
		return '3', "CloseComplete"
	case *pgproto3.NoData:
		return 'n', "NoData"
	case *pgproto3.PortalSuspended:
		return 's', "PortalSuspended"
	case *pgproto3.EmptyQueryResponse:
		return 'I', "EmptyQueryResponse"
	case *pgproto3.ParameterDescription:
		return 't', fmt.Sprintf("ParameterDescription %v", m.ParameterOIDs)
	case *pgproto3.RowDescription:
		var names []string
		for _, f := range m.Fields {
			names = append(names, fmt.Sprintf("%s:%d", f.Name, f.DataTypeOID))
		}
		return 'T', "RowDescription " + strings.Join(names, " ")
	case *pgproto3.DataRow:
		return 'D', fmt.Sprintf("DataRow %q", m.Values)
	case *pgproto3.CommandComplete:
		return 'C', fmt.Sprintf("CommandComplete %s", m.CommandTag)
	case *pgproto3.CopyInResponse:
		return 'G', "CopyInResponse"
	case *pgproto3.CopyOutResponse:
		return 'H', "CopyOutResponse"
	case *pgproto3.CopyBothResponse:
		return 'W', "CopyBothResponse"
	case *pgproto3.CopyData:
		return 'd', fmt.Sprintf("CopyData %q", m.Data)
	case *pgproto3.CopyDone:
		return 'c', "CopyDone"
	case *pgproto3.FunctionCallResponse:
		return 'V', fmt.Sprintf("FunctionCallResponse %q", m.Result)
	case *pgproto3.NotificationResponse:
		return 'A', fmt.Sprintf("NotificationResponse %s %s", m.Channel, m.Payload)
	case *pgproto3.NoticeResponse:
		return 'N', "NoticeResponse " + describeReport((*pgproto3.ErrorResponse)(m))
	case *pgproto3.ErrorResponse:
		return 'E', "ErrorResponse " + describeReport(m)
	default:
		return '?', fmt.Sprintf("%T", m)
	}
}

func describeReport(m *pgproto3.ErrorResponse) string {
	text := fmt.Sprintf("%s %s %q", m.Severity, m.Code, m.Message)
	if m.Position != 0 {
		text += fmt.Sprintf(" at %d", m.Position)
	}
	if m.Hint != "" {
		text += fmt.Sprintf(" hint %q", m.Hint)
	}
	return text
}
