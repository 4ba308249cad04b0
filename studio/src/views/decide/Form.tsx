// The form of a message, generated from the rules' `input`: one control per field, records as
// groups. The message's JSON text is the single source of truth; the form reads and edits it.
import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { FormField } from '../../api/types';
import { t } from '../../i18n';
import { at, isObject, type Json, type JsonObject, type Path, typed, withValue, write } from './message';

interface Props {
  fields: readonly FormField[];
  message: JsonObject;
  onChange: (message: JsonObject) => void;
}

export function Form({ fields, message, onChange }: Props): JSX.Element {
  const set = (path: Path, value: Json | undefined): void => onChange(withValue(message, path, value));
  return (
    <div class="form">
      {fields.map((field) => (
        <Field key={field.name} field={field} path={[field.name]} message={message} set={set} />
      ))}
    </div>
  );
}

interface FieldProps {
  field: FormField;
  path: Path;
  message: JsonObject;
  set: (path: Path, value: Json | undefined) => void;
}

function Field(props: FieldProps): JSX.Element {
  const { field, path, message, set } = props;
  if (field.control === 'record') return <Group {...props} />;
  const value = at(message, path);
  return (
    <div class="form-field">
      <label class="field">
        <span>
          <b class="mono">{field.name}</b> <span class="mono">{field.ty}</span>
          {field.optional && <> · {t().decide.optional}</>}
          {field.private && <> · {t().decide.private}</>}
        </span>
        <ControlOf field={field} value={value} name={path.join('.')} set={(next) => set(path, next)} />
      </label>
      {value !== undefined && field.optional && (
        <button
          type="button"
          class="plain small"
          aria-label={t().decide.clearField(path.join('.'))}
          onClick={() => set(path, undefined)}
        >
          {t().decide.clear}
        </button>
      )}
    </div>
  );
}

function Group({ field, path, message, set }: FieldProps): JSX.Element {
  const value = at(message, path);
  const present = isObject(value);
  return (
    <fieldset class="form-group">
      <legend>
        <b class="mono">{field.name}</b>
        {field.optional && (
          <label class="row small">
            <input
              type="checkbox"
              checked={present}
              onChange={(event) => set(path, event.currentTarget.checked ? {} : undefined)}
            />
            {t().decide.present}
          </label>
        )}
      </legend>
      {(present || !field.optional) &&
        field.fields.map((inner) => (
          <Field key={inner.name} field={inner} path={[...path, inner.name]} message={message} set={set} />
        ))}
    </fieldset>
  );
}

interface ControlProps {
  field: FormField;
  value: Json | undefined;
  name: string;
  set: (value: Json | undefined) => void;
}

function ControlOf(props: ControlProps): JSX.Element {
  const { field, value, name, set } = props;
  switch (field.control) {
    case 'bool':
      return (
        <select
          name={name}
          value={typeof value === 'boolean' ? String(value) : ''}
          onChange={(event) =>
            set(event.currentTarget.value === '' ? undefined : event.currentTarget.value === 'true')
          }
        >
          <option value="">{t().decide.missing}</option>
          <option value="true">true</option>
          <option value="false">false</option>
        </select>
      );
    case 'texts':
      return <Texts {...props} />;
    case 'text':
    case 'datetime':
      return <TextControl {...props} />;
    case 'int':
    case 'number':
      return <Parsed {...props} control={field.control} />;
    default:
      return <Parsed {...props} control="json" />;
  }
}

function TextControl({ field, value, name, set }: ControlProps): JSX.Element {
  const list = useId();
  const text = typeof value === 'string' ? value : value === undefined ? '' : write(value);
  const take = (next: string): void => set(next === '' && field.optional ? undefined : next);
  if (name === 'text' || text.length > 60) {
    return (
      <textarea
        name={name}
        rows={Math.min(6, 2 + Math.floor(text.length / 60))}
        value={text}
        onInput={(event) => take(event.currentTarget.value)}
      />
    );
  }
  return (
    <>
      <input
        name={name}
        value={text}
        list={field.suggestions.length > 0 ? list : undefined}
        placeholder={field.control === 'datetime' ? '2026-01-31T09:00:00Z' : undefined}
        onInput={(event) => take(event.currentTarget.value)}
      />
      {field.suggestions.length > 0 && (
        <datalist id={list}>
          {field.suggestions.slice(0, 200).map((suggestion) => (
            <option key={suggestion} value={suggestion} />
          ))}
        </datalist>
      )}
    </>
  );
}

/** A list of texts, one per line. */
function Texts({ value, name, set }: ControlProps): JSX.Element {
  if (value !== undefined && !(Array.isArray(value) && value.every((item) => typeof item === 'string'))) {
    return <Parsed field={NO_FIELD} value={value} name={name} set={set} control="json" />;
  }
  const lines = (value ?? []).join('\n');
  return (
    <textarea
      name={name}
      rows={Math.min(6, (value?.length ?? 0) + 1)}
      value={lines}
      placeholder={t().decide.onePerLine}
      onInput={(event) => {
        const text = event.currentTarget.value;
        set(text === '' ? undefined : text.split('\n'));
      }}
    />
  );
}

const NO_FIELD: FormField = {
  name: '',
  ty: '',
  control: 'json',
  optional: true,
  private: false,
  fields: [],
  suggestions: [],
};

/**
 * A control for JSON or a number. While the input is incomplete, the control keeps the text and the
 * message stays unchanged.
 */
function Parsed({
  value,
  name,
  set,
  control,
}: ControlProps & { control: 'int' | 'number' | 'json' }): JSX.Element {
  const [draft, setDraft] = useState<string | null>(null);
  const text = draft ?? (value === undefined ? '' : write(value));
  const wrong = draft !== null && typed(control, draft) === null;
  const onInput = (next: string): void => {
    setDraft(next);
    const read = typed(control, next);
    if (read) set(read.value);
  };
  const shared = {
    name,
    value: text,
    'aria-invalid': wrong,
    onBlur: () => setDraft(wrong ? draft : null),
  };
  return (
    <>
      {control === 'json' ? (
        <textarea
          {...shared}
          class="mono"
          rows={Math.min(8, text.split('\n').length + 1)}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      ) : (
        <input
          {...shared}
          inputMode={control === 'int' ? 'numeric' : 'decimal'}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
      {wrong && (
        <span class="field-mistake">{control === 'json' ? t().decide.noJson : t().decide.noNumber}</span>
      )}
    </>
  );
}
