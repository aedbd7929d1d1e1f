package org.apache.kafka.connect.mirror;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigDef;

/**
 * What MirrorMaker 2 itself makes of properties files. In its package, since the methods that say so are not public.
 *
 * The first line of output has the keys of each ConfigDef with their defaults. Then each line of input names a file, and
 * is answered by a line of JSON: the pairs, and for each pair the connector's and the worker's settings and those of the
 * clients; or what was thrown.
 */
public final class ExpandConfig {
    private static final ObjectMapper JSON = new ObjectMapper();

    private ExpandConfig() {}

    public static void main(String[] arguments) throws Exception {
        System.out.println(JSON.writeValueAsString(tables()));
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String file = input.readLine(); file != null; file = input.readLine()) {
            Map<String, Object> answer = new TreeMap<>();
            try {
                expand(Path.of(file), answer);
            } catch (RuntimeException error) {
                answer.put("error", String.valueOf(error.getMessage()));
            }
            System.out.println(JSON.writeValueAsString(answer));
        }
    }

    private static void expand(Path file, Map<String, Object> answer) throws Exception {
        Properties loaded = new Properties();
        try (Reader reader = Files.newBufferedReader(file)) {
            loaded.load(reader);
        }
        Map<String, String> properties = new HashMap<>();
        loaded.forEach((key, value) -> properties.put((String) key, (String) value));
        // Else every class path entry is searched for plugins, two seconds a file.
        properties.put("plugin.discovery", "service_load");
        MirrorMakerConfig maker = new MirrorMakerConfig(properties);
        List<SourceAndTarget> pairs = maker.clusterPairs();
        Map<String, Object> flows = new TreeMap<>();
        for (SourceAndTarget pair : pairs) {
            Map<String, String> connector = maker.connectorBaseConfig(pair, MirrorSourceConnector.class);
            // Validated as Connect would do it: a value that it refuses is thrown.
            MirrorSourceConfig source = new MirrorSourceConfig(connector);
            new MirrorCheckpointConfig(connector);
            new MirrorHeartbeatConfig(connector);
            Map<String, Object> flow = new TreeMap<>();
            flow.put("connector", connector);
            flow.put("worker", maker.workerConfig(pair));
            flow.put("source_consumer", texts(source.sourceConsumerConfig("role")));
            flow.put("source_producer", texts(source.sourceProducerConfig("role")));
            flow.put("source_admin", texts(source.sourceAdminConfig("role")));
            flow.put("target_consumer", texts(source.targetConsumerConfig("role")));
            flow.put("target_admin", texts(source.targetAdminConfig("role")));
            flows.put(pair.source() + "->" + pair.target(), flow);
        }
        answer.put("flows", flows);
    }

    private static Map<String, Map<String, String>> tables() {
        Map<String, Map<String, String>> tables = new TreeMap<>();
        tables.put("source", defaults(MirrorSourceConfig.CONNECTOR_CONFIG_DEF));
        tables.put("checkpoint", defaults(MirrorCheckpointConfig.CONNECTOR_CONFIG_DEF));
        tables.put("heartbeat", defaults(MirrorHeartbeatConfig.CONNECTOR_CONFIG_DEF));
        tables.put("inherited", defaults(MirrorClientConfig.CLIENT_CONFIG_DEF));
        tables.put("consumer", defaults(org.apache.kafka.clients.consumer.ConsumerConfig.configDef()));
        tables.put("producer", defaults(org.apache.kafka.clients.producer.ProducerConfig.configDef()));
        tables.put("admin", defaults(org.apache.kafka.clients.admin.AdminClientConfig.configDef()));
        return tables;
    }

    private static Map<String, String> defaults(ConfigDef definition) {
        Map<String, String> found = new TreeMap<>();
        definition.configKeys().forEach((name, key) ->
            found.put(name, key.hasDefault() ? ConfigDef.convertToString(key.defaultValue, key.type) : null));
        return found;
    }

    private static Map<String, String> texts(Map<String, Object> properties) {
        Map<String, String> found = new TreeMap<>();
        properties.forEach((key, value) -> found.put(key, String.valueOf(value)));
        return found;
    }
}
