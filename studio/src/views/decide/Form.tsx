// The form of a message, generated from the rules' `input`: one control per field, records as
// groups. The message's JSON text is the single source of truth; the form reads and edits it.
import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { FormField } from '../../api/types';
import { t } from '../../i18n';
import { at, type Json, type JsonObject, type Path, typed, withValue, write } from './message';

interface Props {
  fields: readonly FormField[];
  message: JsonObject;
  onChange: (message: JsonObject) => void;
}

export function Form({ fields, message, onChange }: Props): JSX.Element {
  const set = (path: Path, value: Json | undefined): void => onChange(withValue(message, path, value));
  return (
    <div class="form">
      <Fields fields={fields} path={[]} message={message} set={set} />
    </div>
  );
}

/** The fields of a record, then a button for each optional field that the message does not have. */
function Fields({
  fields,
  path,
  message,
  set,
}: Omit<FieldProps, 'field'> & Pick<Props, 'fields'>): JSX.Element {
  const [added, setAdded] = useState<readonly string[]>([]);
  const words = t().decide;
  const isAbsent = (field: FormField): boolean =>
    field.optional && !added.includes(field.name) && at(message, [...path, field.name]) === undefined;
  const absent = fields.filter(isAbsent);
  const add = (field: FormField): void => {
    setAdded([...added, field.name]);
    if (field.control === 'record') set([...path, field.name], {});
  };
  return (
    <>
      {fields
        .filter((field) => !isAbsent(field))
        .map((field) => (
          <Field
            key={field.name}
            field={field}
            path={[...path, field.name]}
            message={message}
            set={set}
            onRemove={() => setAdded(added.filter((name) => name !== field.name))}
          />
        ))}
      {absent.length > 0 && (
        <div class="row add-fields" role="group" aria-label={words.absent}>
          {absent.map((field) => (
            <button
              key={field.name}
              type="button"
              class="add-field"
              aria-label={words.addFieldLabel([...path, field.name].join('.'))}
              title={field.ty}
              onClick={() => add(field)}
            >
              {words.addField(field.name)}
            </button>
          ))}
        </div>
      )}
    </>
  );
}

interface FieldProps {
  field: FormField;
  path: Path;
  message: JsonObject;
  set: (path: Path, value: Json | undefined) => void;
  /** Called when an optional field is removed from the message. */
  onRemove?: () => void;
}

function Field(props: FieldProps): JSX.Element {
  const { field, path, message, set, onRemove } = props;
  if (field.control === 'record') return <Group {...props} />;
  const value = at(message, path);
  return (
    <div class="form-field">
      <label class="field">
        <span>
          <b class="mono">{field.name}</b> <span class="mono field-type">{field.ty}</span>
          {field.private && <> · {t().decide.private}</>}
        </span>
        <ControlOf field={field} value={value} name={path.join('.')} set={(next) => set(path, next)} />
      </label>
      {field.optional && (
        <Remove
          name={path.join('.')}
          onClick={() => {
            set(path, undefined);
            onRemove?.();
          }}
        />
      )}
    </div>
  );
}

function Remove({ name, onClick }: { name: string; onClick: () => void }): JSX.Element {
  return (
    <button type="button" class="plain remove" aria-label={t().decide.clearField(name)} onClick={onClick}>
      <span aria-hidden="true">✕</span>
    </button>
  );
}

function Group({ field, path, message, set, onRemove }: FieldProps): JSX.Element {
  const remove = (): void => {
    set(path, undefined);
    onRemove?.();
  };
  return (
    <fieldset class="form-group">
      <legend>
        <b class="mono">{field.name}</b>
        {field.optional && <Remove name={path.join('.')} onClick={remove} />}
      </legend>
      <Fields fields={field.fields} path={path} message={message} set={set} />
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
