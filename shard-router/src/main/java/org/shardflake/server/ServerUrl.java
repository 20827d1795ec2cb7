/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server;

import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.PGProperty;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * The URL of a PostgreSQL server, in the form of psql or of JDBC.
 *
 * <p>Reads libpq's URLs, {@code PGUSER} and {@code PGPASSWORD}, which the driver does not; the driver reads
 * {@code ~/.pgpass} and {@code PGPASSFILE} by itself. Messages never contain the password, nor any part of a URL that
 * could not be parsed. Thread-safe.
 */
public final class ServerUrl {

    /** The driver's logger. It only repeats exceptions, and its warnings about URLs contain parts of passwords. */
    private static final Logger DRIVER_LOG = Logger.getLogger("org.postgresql");

    /** The environment variable that names the origin of changes in the history of the shard map. */
    public static final String ORIGIN = "SHARDFLAKE_ORIGIN";

    /** The environment variables with the login of subscriptions, for when it differs from the tools' own. */
    private static final String REPLICATION_USER = "SHARDFLAKE_REPLICATION_USER";

    private static final String REPLICATION_PASSWORD = "SHARDFLAKE_REPLICATION_PASSWORD";

    /** SQLSTATEs by which poolers refuse a login with settings: an unknown parameter, something they lack. */
    private static final Set<String> REFUSED_OPTIONS = Set.of("08P01", "0A000", "42704");

    private static final String TRANSACTION_TIMEOUT = "25P04";

    private final String url;
    private final Map<String, String> environment;
    private final PGSimpleDataSource source;
    /** Runs after connecting to a standby; null if only the primary will do. */
    private final @Nullable Runnable onStandby;
    /** The search_path of sessions that data sources open with Shardflake's settings; null to leave sessions unchanged. */
    private final @Nullable String pinnedPath;
    /** The name that operators use for the server, as in the shard map; null if unknown. */
    private final @Nullable String name;
    /** Keeps sessions for later connections; null if each connection has a session of its own. */
    private final @Nullable KeptSessions kept;
    /** The source that is asked for a password at each new connection; null if the URL, the environment or a file has the password. */
    private final @Nullable PasswordSource passwords;
    /** Whether a pooler lets several clients share its sessions; null while unknown. */
    private volatile @Nullable Boolean isShared;
    /** Whether something in front of the server refuses settings at login, as PgBouncer does. */
    private volatile boolean refusesOptions;
    /** Whether transaction timeouts were found to be so short that not even the first transaction ends in time. */
    private volatile boolean isTimed;

    private ServerUrl(
            String url,
            Map<String, String> environment,
            @Nullable Runnable onStandby,
            @Nullable String pinnedPath,
            @Nullable String name,
            @Nullable KeptSessions kept,
            @Nullable PasswordSource passwords) {
        this.url = url;
        this.passwords = passwords;
        this.name = name;
        this.kept = kept;
        this.environment = Map.copyOf(environment);
        this.onStandby = onStandby;
        this.pinnedPath = pinnedPath;
        this.source = fill(new DirectDataSource());
    }

    /**
     * Reads a URL.
     *
     * @throws IllegalArgumentException if it is neither a libpq nor a JDBC URL of PostgreSQL
     */
    public static ServerUrl parse(String url) {
        return parse(url, Map.of());
    }

    /**
     * Reads a URL, taking what it omits from {@code PGUSER} and {@code PGPASSWORD} of this environment.
     *
     * @throws IllegalArgumentException if it is neither a libpq nor a JDBC URL of PostgreSQL
     */
    public static ServerUrl parse(String url, Map<String, String> environment) {
        DRIVER_LOG.setLevel(Level.OFF);
        return new ServerUrl(url, environment, null, null, null, null, null);
    }

    /**
     * This URL for read-only use: {@link #connect} accepts a standby if the primary cannot be reached.
     *
     * @param told runs whenever it did, since the data read may be old
     */
    public ServerUrl toRead(Runnable told) {
        return new ServerUrl(url, environment, told, pinnedPath, name, null, passwords);
    }

    /**
     * This URL with the server's name, which a {@link SessionFailedException} then includes in its message.
     *
     * @param name what operators call the server, such as its name in the shard map
     */
    public ServerUrl named(String name) {
        return new ServerUrl(url, environment, onStandby, pinnedPath, name, kept, passwords);
    }

    /** This URL with sessions that are kept for later connections. */
    public ServerUrl keeping(KeptSessions sessions) {
        return new ServerUrl(url, environment, onStandby, pinnedPath, name, sessions, passwords);
    }

    /**
     * This URL with a source that is asked for the password of each new connection, unless the URL holds one. {@code PGPASSWORD} and
     * {@code ~/.pgpass} are then not used.
     */
    public ServerUrl asking(PasswordSource source) {
        return new ServerUrl(url, environment, onStandby, pinnedPath, name, kept, source);
    }

    /** Another URL, whose missing parts are taken from the same sources as this one's, and then from this one. */
    public ServerUrl another(String other) {
        Map<String, String> login = new HashMap<>(environment);
        if (source.getUser() != null) {
            login.put("PGUSER", source.getUser());
        }
        if (source.getPassword() != null) {
            login.put("PGPASSWORD", source.getPassword());
        }
        return new ServerUrl(other, login, null, null, null, null, source.getPassword() == null ? passwords : null);
    }

    /** The name and the hosts, or only the hosts if there is no name. */
    private String label() {
        return name == null ? hosts() : "%s (%s)".formatted(name, hosts());
    }

    /**
     * A new data source that opens a connection per call, to be configured further. Of several hosts it takes the
     * primary, unless the URL says otherwise.
     */
    public PGSimpleDataSource dataSource() {
        return fill(pinnedPath == null ? new DirectDataSource() : new PinnedDataSource(this, pinnedPath));
    }

    private PGSimpleDataSource fill(DirectDataSource fresh) {
        fresh.ask(passwords);
        fresh.setApplicationName("shardflake");
        if (url.startsWith("jdbc:postgresql:")) {
            readJdbcUrl(fresh, url);
        } else if (url.startsWith("postgresql://") || url.startsWith("postgres://")) {
            LibpqUrl.read(fresh, url.substring(url.indexOf("://") + 3));
        } else {
            throw malformed("it does not start with postgresql:// or jdbc:postgresql://");
        }
        DriverOptions.check(fresh);
        if (fresh.getUser() == null) {
            fresh.setUser(environment.get("PGUSER"));
        }
        if (fresh.getPassword() == null && passwords == null) {
            fresh.setPassword(environment.get("PGPASSWORD"));
        }
        String timeout = environment.getOrDefault("PGCONNECT_TIMEOUT", "");
        if (!timeout.isEmpty() && !url.matches("(?s).*[?&](connect_timeout|connectTimeout)=.*")) {
            fresh.setConnectTimeout(Integer.parseInt(LibpqUrl.seconds(timeout)));
        }
        if (fresh.getServerNames().length > 1 && "any".equals(fresh.getTargetServerType())) {
            fresh.setTargetServerType("primary");
        }
        return fresh;
    }

    /**
     * Connects to the primary, in auto-commit mode; the caller closes the connection.
     *
     * <p>The session depends on nothing that the server, the database or the role has set: names are looked up in
     * {@code pg_catalog}, there are no time limits, rows that a policy would hide are an error, and values have one form.
     * Only through a pooler that shares its sessions, which {@link #toRead} takes, they stay as they are.
     *
     * <p>Nothing waits forever: a host has {@code connect_timeout} to complete the login, 10 seconds by default, and a
     * statement fails if the server stops answering, however long statements themselves may take.
     *
     * @param applicationName the name that the server shows in {@code pg_stat_activity}
     * @throws StandbyException if there are only standbys, and this is not {@link #toRead}
     * @throws PoolerException if there is a pooler that changes sessions, and this is not {@link #toRead}
     */
    public Connection connect(String applicationName) throws SQLException {
        if (kept == null) {
            return connect(applicationName, configured -> {});
        }
        Connection lent = kept.lend(
                onStandby == null ? url : "to read " + url,
                session -> renew(session, applicationName),
                () -> connect(applicationName, configured -> {}));
        SessionFailedException.opened(lent, label());
        return lent;
    }

    /** Resets a session that has only the settings of its login, so that it is like a new one. */
    private void renew(Connection session, String applicationName) throws SQLException {
        int process = session.unwrap(PGConnection.class).getBackendPID();
        if (pin(session, SessionSettings.PATH, process) != process) {
            throw new SQLException("a pooler may give the session to others", "08003");
        }
        requirePrimary(session, onStandby);
        session.setClientInfo("ApplicationName", applicationName);
        session.setNetworkTimeout(Runnable::run, source.getSocketTimeout() * 1000);
        tellOrigin(session);
    }

    /**
     * Connects like {@link #connect(String)}, with other properties of the driver.
     *
     * @param way sets those properties
     */
    public Connection connect(String applicationName, Consumer<PGSimpleDataSource> way) throws SQLException {
        return connect(applicationName, way, SessionSettings.PATH, onStandby, onStandby != null);
    }

    private Connection connect(
            String applicationName,
            Consumer<PGSimpleDataSource> way,
            String path,
            @Nullable Runnable onStandby,
            boolean takesShared)
            throws SQLException {
        PGSimpleDataSource named = limited(applicationName);
        way.accept(named);
        try {
            return whileTimed(() -> connect(named, path, onStandby, takesShared));
        } catch (SQLException e) {
            throw name == null ? e : SessionFailedException.connecting(label(), e);
        }
    }

    private Connection connect(PGSimpleDataSource named, String path, @Nullable Runnable onStandby, boolean takesShared)
            throws SQLException {
        Connection connection = open(named, path);
        try {
            pin(connection, () -> open(named, path), path, takesShared);
            requirePrimary(connection, onStandby);
            // The limit for the login would now apply to statements.
            connection.setNetworkTimeout(Runnable::run, source.getSocketTimeout() * 1000);
            tellOrigin(connection);
            SessionFailedException.opened(connection, label());
            return connection;
        } catch (SQLException | RuntimeException e) {
            connection.close();
            throw e;
        }
    }

    private void requirePrimary(Connection connection, @Nullable Runnable onStandby) throws SQLException {
        if (isStandby(connection)) {
            if (onStandby == null) {
                throw new StandbyException(hosts());
            }
            onStandby.run();
        }
    }

    /** Sets the search path, except in a shared session, whose other clients would get our settings. */
    private void pin(Connection connection, SharedSessions.Opener another, String path, boolean takesShared)
            throws SQLException {
        int process = connection.unwrap(PGConnection.class).getBackendPID();
        if (pin(connection, path, process) == process) {
            return;
        }
        if (isShared == null) {
            isShared = SharedSessions.isBehind(connection, another);
        }
        if (!isShared) {
            pin(connection, path, null);
        } else if (!takesShared) {
            throw new PoolerException(hosts());
        }
    }

    private int pin(Connection connection, String path, @Nullable Integer process) throws SQLException {
        int version = connection.getMetaData().getDatabaseMajorVersion();
        try (Statement statement = connection.createStatement();
                ResultSet row =
                        statement.executeQuery(SessionSettings.sql(process, source.getOptions(), path, version))) {
            row.next();
            return row.getInt(1);
        }
    }

    /** Sets the origin with a statement, since poolers refuse settings at login. */
    private void tellOrigin(Connection connection) throws SQLException {
        String origin = environment.getOrDefault(ORIGIN, "");
        if (!origin.isEmpty()) {
            try (PreparedStatement statement =
                    connection.prepareStatement("SELECT pg_catalog.set_config('shardflake.origin', ?, false)")) {
                statement.setString(1, origin);
                statement.execute();
            }
        }
    }

    /** This URL with a {@link #dataSource} whose sessions have the same settings as those of {@link #connect(String)}. */
    public ServerUrl pinned() {
        return pinned(SessionSettings.PATH);
    }

    /**
     * This URL like {@link #pinned()}, for sessions in which users' SQL runs.
     *
     * @param searchPath the schemas in which it finds names, as written in SQL
     */
    public ServerUrl pinned(String searchPath) {
        return new ServerUrl(url, environment, onStandby, searchPath, name, kept, passwords);
    }

    /**
     * The schemas in which this login finds names without a schema, as in psql. Only for names that a user gives: the sessions of {@link
     * #connect(String)} look in none of them.
     */
    public List<String> searchPath() throws SQLException {
        return List.of(asOthers("SELECT pg_catalog.unnest(pg_catalog.current_schemas(true))"));
    }

    /** Whether this login's transactions are read-only by default, unlike those of sessions from {@link #connect(String)}. */
    public boolean isReadOnlyByDefault() throws SQLException {
        return asOthers("SELECT pg_catalog.current_setting('default_transaction_read_only')")[0].equals("on");
    }

    /** Settings that this login's sessions have by default, as do the workers of its subscriptions. */
    public Map<String, String> ownSettings(String... names) throws SQLException {
        String[] values = asOthers(
                "SELECT pg_catalog.current_setting(name) FROM pg_catalog.unnest('{%s}'::pg_catalog.text[]) name"
                        .formatted(String.join(",", names)));
        Map<String, String> settings = new LinkedHashMap<>();
        for (int i = 0; i < names.length; i++) {
            settings.put(names[i], values[i]);
        }
        return settings;
    }

    /** Runs a query in a session with the settings of the server, the database and the role, instead of ours. */
    private String[] asOthers(String question) throws SQLException {
        List<String> answers = new ArrayList<>();
        PGSimpleDataSource named = limited("shardflake");
        if (!refusesOptions) {
            named.setOptions(SessionSettings.unlimited(source.getOptions(), isTimed));
        }
        try (Connection connection = openAny(named);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(question)) {
            while (rows.next()) {
                answers.add(rows.getString(1));
            }
        }
        return answers.toArray(String[]::new);
    }

    /**
     * Connects like {@link #connect(String)}, to a primary or a standby, for callers that change one into the other in this session.
     *
     * @throws PoolerException if there is a pooler that changes sessions
     */
    public Connection connectToEither(String applicationName) throws SQLException {
        return connect(applicationName, configured -> {}, SessionSettings.PATH, () -> {}, false);
    }

    private PGSimpleDataSource limited(String applicationName) {
        PGSimpleDataSource limited = fill(new DirectDataSource());
        limited.setApplicationName(applicationName);
        limited.setTcpKeepAlive(true);
        limited.setTargetServerType(isOneHost() ? "any" : "primary");
        if (limited.getSocketTimeout() == 0) {
            limited.setSocketTimeout(limited.getConnectTimeout());
        }
        ServerWatch.over(limited);
        return limited;
    }

    private Connection open(PGSimpleDataSource primary, String path) throws SQLException {
        return open(primary, path, () -> openAny(primary));
    }

    private Connection open(PGSimpleDataSource named, String path, SharedSessions.Opener login) throws SQLException {
        if (!refusesOptions) {
            named.setOptions(SessionSettings.options(source.getOptions(), path, isTimed));
            try {
                return login.open();
            } catch (SQLException e) {
                if (!REFUSED_OPTIONS.contains(String.valueOf(e.getSQLState()))) {
                    throw e;
                }
            }
            named.setOptions(source.getOptions());
            Connection connection = login.open();
            refusesOptions = true;
            return connection;
        }
        return login.open();
    }

    /** Opens a session of a data source as {@link #connect(String)} does, but on whatever host the data source finds. */
    Connection openPinned(PGSimpleDataSource from, String path, SharedSessions.Opener login) throws SQLException {
        return whileTimed(() -> {
            Connection connection = open(from, path, login);
            try {
                pin(connection, () -> open(from, path, login), path, true);
                SessionFailedException.opened(connection, label());
                return connection;
            } catch (SQLException | RuntimeException e) {
                connection.close();
                throw e;
            }
        });
    }

    /** Opens a session, and tries again with options at login if a transaction timeout is too short for setting them by a statement. */
    private Connection whileTimed(SharedSessions.Opener opener) throws SQLException {
        try {
            return opener.open();
        } catch (SQLException e) {
            if (isTimed || !TRANSACTION_TIMEOUT.equals(e.getSQLState())) {
                throw e;
            }
            isTimed = true;
            return opener.open();
        }
    }

    private Connection openAny(PGSimpleDataSource primary) throws SQLException {
        try {
            return primary.getConnection();
        } catch (SQLException e) {
            if (isOneHost()
                    || !String.valueOf(e.getSQLState()).startsWith("08")
                    || REFUSED_OPTIONS.contains(String.valueOf(e.getSQLState()))) {
                throw e;
            }
            // The driver caches which host was the primary, and a standby must be told from no answer at all.
            primary.setTargetServerType("preferPrimary");
            primary.setHostRecheckSeconds(0);
            return primary.getConnection();
        }
    }

    private boolean isOneHost() {
        return source.getServerNames().length == 1;
    }

    /** Whether a connection leads to a server in recovery; costs nothing if the server has reported it. */
    public static boolean isStandby(Connection connection) throws SQLException {
        String told = connection.unwrap(PGConnection.class).getParameterStatus("in_hot_standby");
        if (told != null) {
            return told.equals("on");
        }
        // A pooler may not have passed the report on.
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT pg_catalog.pg_is_in_recovery()")) {
            return row.next() && row.getBoolean(1);
        }
    }

    private static void readJdbcUrl(PGSimpleDataSource source, String url) {
        if (url.replaceFirst("\\?.*", "").contains("@")) {
            throw malformed("a jdbc: URL takes the user as ?user=...&password=..., not before an @");
        }
        try {
            source.setUrl(url);
        } catch (IllegalArgumentException e) {
            throw malformed("the driver cannot read it"); // Its message would repeat the URL, password included.
        }
    }

    static IllegalArgumentException malformed(String reason) {
        return new IllegalArgumentException("the server URL is malformed: " + reason);
    }

    /** Hosts with their ports, separated by commas. */
    public String hosts() {
        List<String> hosts = new ArrayList<>();
        for (int i = 0; i < source.getServerNames().length; i++) {
            String name = source.getServerNames()[i];
            int port = source.getPortNumbers()[i];
            hosts.add((name.contains(":") ? "[" + name + "]" : name) + ":" + (port == 0 ? 5432 : port));
        }
        return String.join(",", hosts);
    }

    /**
     * The connection string for other PostgreSQL servers, in libpq's {@code name='value'} form: for subscriptions,
     * whose slots are on whichever host is then the primary. Contains the password, if there is one; the user and the password are
     * those of {@code SHARDFLAKE_REPLICATION_USER} and {@code SHARDFLAKE_REPLICATION_PASSWORD}, if these are set.
     */
    public String conninfo() {
        Map<String, String> parameters = new LinkedHashMap<>(libpqParameters());
        String user = environment.getOrDefault(REPLICATION_USER, "");
        String password = environment.getOrDefault(REPLICATION_PASSWORD, "");
        if (!user.isEmpty()) {
            parameters.put("user", user);
            parameters.remove("password"); // That of another user.
        }
        if (!password.isEmpty()) {
            parameters.put("password", password);
        }
        return parameters.entrySet().stream()
                .map(parameter -> "%s='%s'"
                        .formatted(
                                parameter.getKey(),
                                parameter.getValue().replace("\\", "\\\\").replace("'", "\\'")))
                .collect(Collectors.joining(" "));
    }

    /**
     * Whether {@link #conninfo} lacks a lasting password: a subscription keeps the password that it was created with, while a {@link
     * PasswordSource} is asked for each connection.
     */
    public boolean lacksReplicationLogin() {
        return passwords != null
                && source.getPassword() == null
                && environment.getOrDefault(REPLICATION_USER, "").isEmpty()
                && environment.getOrDefault(REPLICATION_PASSWORD, "").isEmpty();
    }

    /** The parameters of a connection, by their libpq name. */
    public Map<String, String> libpqParameters() {
        Map<String, @Nullable String> parameters = new LinkedHashMap<>();
        parameters.put("host", String.join(",", source.getServerNames()));
        parameters.put(
                "port",
                Arrays.stream(source.getPortNumbers())
                        .mapToObj(port -> String.valueOf(port == 0 ? 5432 : port))
                        .collect(Collectors.joining(",")));
        parameters.put("dbname", source.getDatabaseName());
        parameters.put("user", source.getUser());
        parameters.put("password", source.getPassword());
        parameters.put("sslmode", source.getSslMode());
        parameters.put("sslrootcert", source.getSslRootCert());
        parameters.put("channel_binding", unlessDefault(PGProperty.CHANNEL_BINDING));
        parameters.put("gssencmode", unlessDefault(PGProperty.GSS_ENC_MODE));
        parameters.put("options", source.getOptions());
        parameters.put("target_session_attrs", "primary");
        Map<String, String> given = new LinkedHashMap<>();
        parameters.forEach((name, value) -> {
            if (value != null) {
                given.put(name, value);
            }
        });
        return given;
    }

    private @Nullable String unlessDefault(PGProperty property) {
        String value = source.getProperty(property);
        return Objects.equals(value, property.getDefaultValue()) ? null : value;
    }

    /** The reason why a connection failed, which the driver's message leaves out. */
    public static String whyUnreachable(SQLException e) {
        Throwable cause = e;
        while (cause.getCause() != null) {
            if (cause instanceof PasswordUnavailableException unavailable) {
                return String.valueOf(unavailable.getMessage());
            }
            cause = cause.getCause();
        }
        if (cause instanceof UnknownHostException) {
            return "unknown host " + cause.getMessage();
        }
        if (cause instanceof SocketTimeoutException) {
            return "no answer in time";
        }
        String text = cause instanceof ConnectException || cause instanceof NoRouteToHostException
                ? String.valueOf(cause.getMessage())
                : String.valueOf(e.getMessage());
        return text.lines().findFirst().orElse(text).replaceFirst("^(FATAL|ERROR): ", "");
    }

    /** The URL as it was given, with its other parameters, but without passwords. */
    public String withoutPassword() {
        int query = url.indexOf('?');
        String location = (query < 0 ? url : url.substring(0, query)).replaceFirst("^([a-z]+://[^/:]*):[^/]*@", "$1@");
        String parameters = query < 0
                ? ""
                : Arrays.stream(url.substring(query + 1).split("&", -1))
                        .filter(parameter -> !isSecret(parameter.replaceFirst("=.*", "")))
                        .collect(Collectors.joining("&"));
        return parameters.isEmpty() ? location : location + "?" + parameters;
    }

    /** Whether a parameter may be a password; escaped characters might hide its name. */
    private static boolean isSecret(String parameter) {
        return !parameter.matches("[A-Za-z_]+")
                || parameter.toLowerCase(Locale.ROOT).endsWith("password");
    }

    /** The URL in libpq's form, without password and parameters. */
    @Override
    public String toString() {
        String user = source.getUser() == null ? "" : source.getUser() + "@";
        String database = source.getDatabaseName();
        return "postgresql://" + user + hosts() + (database == null || database.isEmpty() ? "" : "/" + database);
    }
}
